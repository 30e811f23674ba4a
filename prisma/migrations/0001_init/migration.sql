-- CreateTable
CREATE TABLE "tenant" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "owner_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "tenant_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "member" (
    "id" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "password_hash" TEXT NOT NULL,
    "timezone" TEXT,
    "all_workspaces" BOOLEAN NOT NULL DEFAULT true,
    "workspaces" TEXT[],
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_seen_at" TIMESTAMPTZ(3),

    CONSTRAINT "member_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "api_key" (
    "id" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "label" TEXT NOT NULL,
    "role" TEXT,
    "prefix" TEXT NOT NULL,
    "hash" TEXT NOT NULL,
    "minted_by_id" TEXT,
    "minted_by" TEXT NOT NULL,
    "workspace" TEXT,
    "access" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "api_key_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "audit_entry" (
    "id" BIGSERIAL NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "actor" JSONB NOT NULL,
    "action" TEXT NOT NULL,
    "target" TEXT NOT NULL,
    "address" TEXT,
    "detail" JSONB,

    CONSTRAINT "audit_entry_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "workspace" (
    "id" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "live_seq" INTEGER NOT NULL DEFAULT 0,
    "preview_of" TEXT,
    "preview_branch" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "workspace_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "blob" (
    "workspace_id" TEXT NOT NULL,
    "sha" TEXT NOT NULL,
    "size" INTEGER NOT NULL,
    "content" BYTEA NOT NULL,

    CONSTRAINT "blob_pkey" PRIMARY KEY ("workspace_id","sha")
);

-- CreateTable
CREATE TABLE "revision" (
    "workspace_id" TEXT NOT NULL,
    "seq" INTEGER NOT NULL,
    "id" TEXT NOT NULL,
    "git_commit" TEXT NOT NULL,
    "tree_hash" TEXT NOT NULL,
    "manifest" JSONB NOT NULL,
    "plans" JSONB NOT NULL,
    "index" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "revision_pkey" PRIMARY KEY ("workspace_id","seq")
);

-- CreateTable
CREATE TABLE "plan" (
    "workspace_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "body" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "plan_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateTable
CREATE TABLE "change" (
    "seq" BIGSERIAL NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "via" TEXT NOT NULL,
    "by" JSONB NOT NULL,
    "message" TEXT NOT NULL,
    "paths" TEXT[],
    "files" JSONB NOT NULL,
    "revision_seq" INTEGER,
    "run_id" TEXT,

    CONSTRAINT "change_pkey" PRIMARY KEY ("seq")
);

-- CreateTable
CREATE TABLE "memory_file" (
    "workspace_id" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "sha" TEXT NOT NULL,
    "size" INTEGER NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "agent" TEXT NOT NULL,
    "run_id" TEXT NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "memory_file_pkey" PRIMARY KEY ("workspace_id","path")
);

-- CreateTable
CREATE TABLE "storage_entry" (
    "workspace_id" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "sha" TEXT NOT NULL,
    "size" BIGINT NOT NULL,
    "type" TEXT NOT NULL,
    "written_by" JSONB NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "storage_entry_pkey" PRIMARY KEY ("workspace_id","path")
);

-- CreateTable
CREATE TABLE "run_file" (
    "run_id" TEXT NOT NULL,
    "agent" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "step" TEXT NOT NULL,
    "sha" TEXT NOT NULL,
    "size" BIGINT NOT NULL,

    CONSTRAINT "run_file_pkey" PRIMARY KEY ("run_id","agent","path")
);

-- CreateTable
CREATE TABLE "run" (
    "id" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "flow" TEXT NOT NULL,
    "plan_id" TEXT NOT NULL,
    "revision" TEXT NOT NULL,
    "root_id" TEXT NOT NULL,
    "parent_id" TEXT,
    "mode" TEXT NOT NULL DEFAULT 'normal',
    "status" TEXT NOT NULL DEFAULT 'queued',
    "stopped" BOOLEAN NOT NULL DEFAULT false,
    "input" JSONB,
    "trigger" JSONB NOT NULL,
    "started_by" JSONB,
    "from_step" INTEGER NOT NULL DEFAULT 1,
    "tags" TEXT[],
    "error" TEXT,
    "summary" TEXT,
    "gates_open" INTEGER NOT NULL DEFAULT 0,
    "last_seq" BIGINT NOT NULL DEFAULT 0,
    "budget_nano" BIGINT,
    "spent_nano" BIGINT NOT NULL DEFAULT 0,
    "reserved_nano" BIGINT NOT NULL DEFAULT 0,
    "memory_writes" TEXT[],
    "rerun_of" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),
    "deadline_at" TIMESTAMPTZ(3),

    CONSTRAINT "run_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "lane" (
    "run_id" TEXT NOT NULL,
    "lane" TEXT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'running',
    "error" TEXT,
    "pos" INTEGER NOT NULL DEFAULT 0,
    "round" INTEGER NOT NULL DEFAULT 1,
    "tries" INTEGER NOT NULL DEFAULT 1,
    "phase" TEXT NOT NULL DEFAULT 'start',
    "loops" JSONB NOT NULL DEFAULT '{}',
    "fence" BIGINT NOT NULL DEFAULT 0,
    "writes" BIGINT NOT NULL DEFAULT 0,
    "turn" INTEGER NOT NULL DEFAULT 0,
    "attempt" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "lane_pkey" PRIMARY KEY ("run_id","lane")
);

-- CreateTable
CREATE TABLE "step" (
    "run_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "item" INTEGER NOT NULL DEFAULT 0,
    "round" INTEGER NOT NULL DEFAULT 1,
    "lane" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 1,
    "result" TEXT,
    "data" JSONB,
    "event_payload" JSONB,
    "decision" JSONB,
    "feedback" TEXT,
    "error" TEXT,
    "cost_nano" BIGINT NOT NULL DEFAULT 0,
    "tokens_in" INTEGER NOT NULL DEFAULT 0,
    "tokens_out" INTEGER NOT NULL DEFAULT 0,
    "tokens_cached" INTEGER NOT NULL DEFAULT 0,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "step_pkey" PRIMARY KEY ("run_id","id","item","round")
);

-- CreateTable
CREATE TABLE "call" (
    "run_id" TEXT NOT NULL,
    "step" TEXT NOT NULL,
    "item" INTEGER NOT NULL,
    "round" INTEGER NOT NULL,
    "attempt" INTEGER NOT NULL,
    "epoch" INTEGER NOT NULL,
    "turn" INTEGER NOT NULL,
    "call" INTEGER NOT NULL,
    "lane" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "acts" BOOLEAN NOT NULL,
    "state" TEXT NOT NULL,
    "starts" INTEGER NOT NULL DEFAULT 1,
    "fence" BIGINT NOT NULL,
    "result" JSONB,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "call_pkey" PRIMARY KEY ("run_id","step","item","round","attempt","epoch","turn","call")
);

-- CreateTable
CREATE TABLE "message" (
    "run_id" TEXT NOT NULL,
    "step" TEXT NOT NULL,
    "item" INTEGER NOT NULL,
    "round" INTEGER NOT NULL,
    "attempt" INTEGER NOT NULL,
    "epoch" INTEGER NOT NULL,
    "seq" INTEGER NOT NULL,
    "role" TEXT NOT NULL,
    "content" JSONB NOT NULL,

    CONSTRAINT "message_pkey" PRIMARY KEY ("run_id","step","item","round","attempt","epoch","seq")
);

-- CreateTable
CREATE TABLE "park" (
    "id" TEXT NOT NULL,
    "run_id" TEXT NOT NULL,
    "lane" TEXT NOT NULL,
    "step" TEXT NOT NULL,
    "item" INTEGER NOT NULL DEFAULT 0,
    "round" INTEGER NOT NULL,
    "kind" TEXT NOT NULL,
    "spec" JSONB NOT NULL,
    "need" INTEGER NOT NULL DEFAULT 1,
    "votes" JSONB NOT NULL DEFAULT '[]',
    "opened_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "due_at" TIMESTAMPTZ(3),
    "decided_at" TIMESTAMPTZ(3),
    "decision" TEXT,
    "decided_by" JSONB,
    "note" TEXT,
    "payload" JSONB,

    CONSTRAINT "park_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "run_event" (
    "run_id" TEXT NOT NULL,
    "seq" BIGINT NOT NULL,
    "type" TEXT NOT NULL,
    "data" JSONB NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "run_event_pkey" PRIMARY KEY ("run_id","seq")
);

-- CreateTable
CREATE TABLE "outbox" (
    "id" BIGSERIAL NOT NULL,
    "run_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "arg" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "tries" INTEGER NOT NULL DEFAULT 0,
    "last_error" TEXT,

    CONSTRAINT "outbox_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "usage" (
    "id" BIGSERIAL NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "run_id" TEXT NOT NULL,
    "step" TEXT NOT NULL,
    "meter" TEXT NOT NULL,
    "model" TEXT,
    "tokens_in" INTEGER NOT NULL DEFAULT 0,
    "tokens_out" INTEGER NOT NULL DEFAULT 0,
    "tokens_cached" INTEGER NOT NULL DEFAULT 0,
    "nano" BIGINT,
    "source" TEXT NOT NULL,
    "estimated" BOOLEAN NOT NULL DEFAULT false,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "usage_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "sandbox_process" (
    "id" TEXT NOT NULL,
    "run_id" TEXT NOT NULL,
    "lane" TEXT NOT NULL,
    "worker_id" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "pid" INTEGER NOT NULL,
    "ticks" BIGINT NOT NULL,
    "dir" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "sandbox_process_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "worker_seen" (
    "id" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "pid" INTEGER NOT NULL,
    "version" TEXT NOT NULL,
    "sandbox" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "worker_seen_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "idempotency_key" (
    "tenant_id" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "body_hash" TEXT NOT NULL,
    "status" INTEGER,
    "response" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idempotency_key_pkey" PRIMARY KEY ("tenant_id","key")
);

-- CreateIndex
CREATE UNIQUE INDEX "tenant_owner_id_key" ON "tenant"("owner_id");

-- CreateIndex
CREATE UNIQUE INDEX "member_email_key" ON "member"("email");

-- CreateIndex
CREATE INDEX "member_tenant_id_idx" ON "member"("tenant_id");

-- CreateIndex
CREATE UNIQUE INDEX "api_key_prefix_key" ON "api_key"("prefix");

-- CreateIndex
CREATE INDEX "api_key_tenant_id_idx" ON "api_key"("tenant_id");

-- CreateIndex
CREATE INDEX "audit_entry_tenant_id_id_idx" ON "audit_entry"("tenant_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "workspace_tenant_id_name_key" ON "workspace"("tenant_id", "name");

-- CreateIndex
CREATE INDEX "revision_workspace_id_git_commit_idx" ON "revision"("workspace_id", "git_commit");

-- CreateIndex
CREATE UNIQUE INDEX "revision_workspace_id_id_key" ON "revision"("workspace_id", "id");

-- CreateIndex
CREATE INDEX "change_workspace_id_seq_idx" ON "change"("workspace_id", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "change_workspace_id_id_key" ON "change"("workspace_id", "id");

-- CreateIndex
CREATE INDEX "storage_entry_workspace_id_sha_idx" ON "storage_entry"("workspace_id", "sha");

-- CreateIndex
CREATE INDEX "run_workspace_id_created_at_id_idx" ON "run"("workspace_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "run_finished_at_workspace_id_idx" ON "run"("finished_at", "workspace_id");

-- CreateIndex
CREATE INDEX "run_root_id_idx" ON "run"("root_id");

-- CreateIndex
CREATE INDEX "park_run_id_idx" ON "park"("run_id");

-- CreateIndex
CREATE INDEX "outbox_run_id_idx" ON "outbox"("run_id");

-- CreateIndex
CREATE INDEX "usage_tenant_id_at_idx" ON "usage"("tenant_id", "at");

-- CreateIndex
CREATE INDEX "usage_run_id_idx" ON "usage"("run_id");

-- CreateIndex
CREATE INDEX "sandbox_process_host_idx" ON "sandbox_process"("host");

-- Rows that change many times a run: room on their page for the next version keeps updates off the indexes (HOT).
ALTER TABLE "run" SET (fillfactor = 70);
ALTER TABLE "lane" SET (fillfactor = 70);
ALTER TABLE "step" SET (fillfactor = 70);
ALTER TABLE "call" SET (fillfactor = 70);
