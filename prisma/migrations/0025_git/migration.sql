-- AlterTable
ALTER TABLE "revision" ADD COLUMN     "packed" BOOLEAN NOT NULL DEFAULT false;

-- CreateTable
CREATE TABLE "git_pack" (
    "id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "seq" INTEGER,
    "name" TEXT NOT NULL,
    "sha" TEXT NOT NULL,
    "size" BIGINT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "git_pack_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "git_pack_workspace_id_seq_key" ON "git_pack"("workspace_id", "seq");

-- CreateIndex
CREATE INDEX "git_pack_sha_idx" ON "git_pack"("sha");

-- CreateTable
CREATE TABLE "git_ref" (
    "workspace_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "oid" TEXT NOT NULL,
    "by" JSONB NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "git_ref_pkey" PRIMARY KEY ("workspace_id","name")
);

-- CreateTable
CREATE TABLE "pending_push" (
    "workspace_id" TEXT NOT NULL,
    "oid" TEXT NOT NULL,
    "caller" JSONB NOT NULL,
    "reason" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "pending_push_pkey" PRIMARY KEY ("workspace_id")
);

-- Packs that no transaction took yet, for the sweep; there are a few at any time.
CREATE INDEX git_pack_unused_idx ON git_pack (created_at) WHERE seq IS NULL;
