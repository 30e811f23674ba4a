-- CreateTable
CREATE TABLE "tool_test" (
    "id" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "spec" JSONB NOT NULL,
    "result" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "tool_test_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "tool_test_workspace_id_idx" ON "tool_test"("workspace_id");

-- CreateIndex
CREATE INDEX "tool_test_created_at_idx" ON "tool_test"("created_at");
