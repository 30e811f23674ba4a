-- AlterTable
ALTER TABLE "run" ADD COLUMN "clocks" TEXT[],
ADD COLUMN "active_limit_ms" BIGINT,
ADD COLUMN "active_ms" BIGINT NOT NULL DEFAULT 0,
ADD COLUMN "active_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "lane" ADD COLUMN "item" JSONB;

-- CreateIndex
CREATE INDEX "step_run_id_item_idx" ON "step"("run_id", "item");
