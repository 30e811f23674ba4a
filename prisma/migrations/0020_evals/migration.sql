-- CreateTable
CREATE TABLE "eval_run" (
    "id" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "eval" TEXT NOT NULL,
    "revision" TEXT NOT NULL,
    "library_seq" INTEGER NOT NULL DEFAULT 0,
    "plan_id" TEXT NOT NULL,
    "spec" JSONB NOT NULL,
    "trigger" TEXT NOT NULL,
    "started_by" JSONB NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'queued',
    "error" TEXT,
    "budget_nano" BIGINT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "eval_run_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "eval_attempt" (
    "eval_run_id" TEXT NOT NULL,
    "k" INTEGER NOT NULL,
    "case_no" INTEGER NOT NULL,
    "repeat" INTEGER NOT NULL,
    "run_id" TEXT,
    "state" TEXT NOT NULL DEFAULT 'pending',
    "passed" BOOLEAN,
    "score" DOUBLE PRECISION,
    "assertions" JSONB NOT NULL DEFAULT '[]',
    "error" TEXT,
    "parked" JSONB,
    "judge_starts" INTEGER NOT NULL DEFAULT 0,
    "judge_held" BIGINT,
    "judge_nano" BIGINT NOT NULL DEFAULT 0,
    "judge_said" JSONB NOT NULL DEFAULT '{}',
    "cost_nano" BIGINT NOT NULL DEFAULT 0,
    "started_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "eval_attempt_pkey" PRIMARY KEY ("eval_run_id","k")
);

-- CreateTable
CREATE TABLE "eval_canned" (
    "run_id" TEXT NOT NULL,
    "call" TEXT NOT NULL,
    "tool" TEXT NOT NULL,
    "seq" INTEGER NOT NULL,

    CONSTRAINT "eval_canned_pkey" PRIMARY KEY ("run_id","call")
);

-- CreateIndex
CREATE INDEX "eval_run_workspace_id_eval_created_at_id_idx" ON "eval_run"("workspace_id", "eval", "created_at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "eval_attempt_run_id_key" ON "eval_attempt"("run_id");

-- CreateIndex
CREATE UNIQUE INDEX "eval_canned_run_id_tool_seq_key" ON "eval_canned"("run_id", "tool", "seq");

-- AddForeignKey
ALTER TABLE "eval_attempt" ADD CONSTRAINT "eval_attempt_eval_run_id_fkey" FOREIGN KEY ("eval_run_id") REFERENCES "eval_run"("id") ON DELETE CASCADE ON UPDATE CASCADE;
