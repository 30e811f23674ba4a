-- The account's cap a calendar month, nano-USD, and the timezone in which its months begin.
ALTER TABLE "tenant" ADD COLUMN "budget_nano" BIGINT,
ADD COLUMN "timezone" TEXT;

-- A run is told once that most of its budget is spent.
ALTER TABLE "run" ADD COLUMN "budget_warned" BOOLEAN NOT NULL DEFAULT false;

-- What a workspace has used in a month.
CREATE INDEX "usage_workspace_id_at_idx" ON "usage"("workspace_id", "at");
