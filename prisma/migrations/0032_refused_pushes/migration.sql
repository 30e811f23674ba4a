-- AlterTable
ALTER TABLE "change" ADD COLUMN     "commit" TEXT,
ADD COLUMN     "refused" TEXT;

-- AlterTable
ALTER TABLE "pending_push" ADD COLUMN     "refused_at" TIMESTAMPTZ(3);

-- CreateIndex
CREATE INDEX "change_workspace_id_commit_idx" ON "change"("workspace_id", "commit");

-- A refused push waits for no run: the end of one does not wake its workflow.
CREATE OR REPLACE FUNCTION wake_push() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO outbox (run_id, kind) SELECT p.workspace_id, 'apply-push' FROM pending_push p
    WHERE p.workspace_id = NEW.workspace_id AND p.refused_at IS NULL;
  RETURN NULL;
END $$;
