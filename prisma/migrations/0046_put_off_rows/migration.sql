-- A row that cannot be worked off is put off, so that it keeps no later one from its turn.
-- AlterTable
ALTER TABLE "burst" ADD COLUMN     "tries" INTEGER NOT NULL DEFAULT 0;

-- AlterTable
ALTER TABLE "notice" ADD COLUMN     "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
ADD COLUMN     "tries" INTEGER NOT NULL DEFAULT 0;

-- AlterTable
ALTER TABLE "raised_event" ADD COLUMN     "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
ADD COLUMN     "tries" INTEGER NOT NULL DEFAULT 0;

-- CreateIndex
CREATE INDEX "notice_due_at_idx" ON "notice"("due_at");

-- CreateIndex
CREATE INDEX "raised_event_due_at_idx" ON "raised_event"("due_at");
