-- A secret in the vault of the account (no workspace) or of one workspace. What it holds is sealed under a data key of
-- its own, and that one is wrapped under the install key of `key_id`.
CREATE TABLE "secret" (
    "id" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "workspace_id" TEXT,
    "name" TEXT NOT NULL,
    "shape" TEXT NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "key_id" TEXT NOT NULL,
    "wrapped_key" BYTEA NOT NULL,
    "sealed" BYTEA NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'ok',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "secret_pkey" PRIMARY KEY ("id")
);

-- The account's vault has no workspace, and there too a name is there once.
CREATE UNIQUE INDEX "secret_tenant_id_workspace_id_name_key" ON "secret"("tenant_id", "workspace_id", "name") NULLS NOT DISTINCT;
CREATE INDEX "secret_key_id_idx" ON "secret"("key_id");
