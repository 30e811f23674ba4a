-- A sweep claims the rows of a run with a lease, and puts them off when Temporal does not take them.
-- AlterTable
ALTER TABLE "outbox" ADD COLUMN     "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP;

-- CreateIndex
CREATE INDEX "outbox_due_at_idx" ON "outbox"("due_at");
