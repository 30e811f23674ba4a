-- AlterTable
ALTER TABLE "workspace" ADD COLUMN     "named_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP;

-- A workspace has its name since it was made or last renamed; of older ones the audit knows the latter.
UPDATE "workspace" w SET "named_at" = greatest(w."created_at", coalesce(
  (SELECT max(a."at") FROM "audit_entry" a
    WHERE a."tenant_id" = w."tenant_id" AND a."action" = 'workspace.rename' AND a."target" = w."name"), w."created_at"));
