-- CreateTable
CREATE TABLE "invite" (
    "id" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "all_workspaces" BOOLEAN NOT NULL DEFAULT true,
    "workspaces" TEXT[],
    "token_hash" TEXT NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "accepted_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "invite_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "avatar" (
    "tenant_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "sha" TEXT NOT NULL,
    "content" BYTEA NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "avatar_pkey" PRIMARY KEY ("tenant_id","kind","id")
);

-- CreateTable
CREATE TABLE "library_file" (
    "tenant_id" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "content" BYTEA NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "library_file_pkey" PRIMARY KEY ("tenant_id","path")
);

-- CreateIndex
CREATE UNIQUE INDEX "invite_token_hash_key" ON "invite"("token_hash");

-- CreateIndex
CREATE INDEX "invite_tenant_id_email_idx" ON "invite"("tenant_id", "email");

-- CreateIndex
CREATE UNIQUE INDEX "member_id_tenant_id_key" ON "member"("id", "tenant_id");

-- An account never is without its owner, who is a member of that account. Looked at when a transaction commits: an
-- account and its first member are made by two statements, each of which needs the other.
ALTER TABLE "tenant" ADD CONSTRAINT "tenant_owner_id_id_fkey" FOREIGN KEY ("owner_id", "id") REFERENCES "member"("id", "tenant_id") ON DELETE NO ACTION ON UPDATE NO ACTION DEFERRABLE INITIALLY DEFERRED;
