-- CreateTable
CREATE TABLE "hook_token" (
    "workspace_id" TEXT NOT NULL,
    "flow" TEXT NOT NULL,
    "generation" INTEGER NOT NULL,

    CONSTRAINT "hook_token_pkey" PRIMARY KEY ("workspace_id","flow")
);

-- CreateTable
CREATE TABLE "delivery" (
    "id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "flow" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "outcome" TEXT NOT NULL,
    "detail" TEXT,
    "run_id" TEXT,
    "delivery_id" TEXT,
    "address" TEXT,
    "input" JSONB,
    "trigger" JSONB,
    "burst_id" TEXT,
    "redelivery_of" TEXT,

    CONSTRAINT "delivery_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "delivery_key" (
    "workspace_id" TEXT NOT NULL,
    "flow" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "answer" JSONB NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "delivery_key_pkey" PRIMARY KEY ("workspace_id","flow","key")
);

-- CreateTable
CREATE TABLE "burst" (
    "id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "flow" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "count" INTEGER NOT NULL DEFAULT 1,
    "input" JSONB NOT NULL,
    "trigger" JSONB NOT NULL,
    "address" TEXT,
    "opened_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "due_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "burst_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "raised_event" (
    "id" BIGSERIAL NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "body" JSONB NOT NULL,
    "chain" TEXT[],
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "raised_event_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "delivery_workspace_id_flow_id_idx" ON "delivery"("workspace_id", "flow", "id");

-- CreateIndex
CREATE INDEX "delivery_burst_id_idx" ON "delivery"("burst_id");

-- CreateIndex
CREATE INDEX "delivery_key_at_idx" ON "delivery_key"("at");

-- CreateIndex
CREATE INDEX "burst_due_at_idx" ON "burst"("due_at");

-- CreateIndex
CREATE UNIQUE INDEX "burst_workspace_id_flow_key_key" ON "burst"("workspace_id", "flow", "key");
