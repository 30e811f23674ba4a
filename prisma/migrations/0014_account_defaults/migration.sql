-- Beside timezone and budget_nano: the three say what the account's own AGENTS.md says, as it was read when it was written,
-- so that readers need not parse it again.
ALTER TABLE "tenant" ADD COLUMN "notify" JSONB;
