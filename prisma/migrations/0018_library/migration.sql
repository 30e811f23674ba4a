-- AlterTable
ALTER TABLE "run" ADD COLUMN     "library_seq" INTEGER NOT NULL DEFAULT 0;

-- CreateTable
CREATE TABLE "library" (
    "tenant_id" TEXT NOT NULL,
    "live_seq" INTEGER NOT NULL DEFAULT 0,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "library_pkey" PRIMARY KEY ("tenant_id")
);

-- CreateTable
CREATE TABLE "plan_set" (
    "workspace_id" TEXT NOT NULL,
    "seq" INTEGER NOT NULL,
    "library_seq" INTEGER NOT NULL,
    "plans" JSONB NOT NULL,

    CONSTRAINT "plan_set_pkey" PRIMARY KEY ("workspace_id","seq","library_seq")
);

-- The plans of a revision under a revision of the library: the newest that are not younger than it, or those it was deployed with.
CREATE FUNCTION plans_at(workspace text, revision int, library int, deployed jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT s.plans FROM plan_set s WHERE s.workspace_id = workspace AND s.seq = revision AND s.library_seq <= library
    ORDER BY s.library_seq DESC LIMIT 1), deployed)
$$;

-- The revision of an account's library that is live; 0 is none.
CREATE FUNCTION library_of(tenant text) RETURNS int LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT live_seq FROM library WHERE tenant_id = tenant), 0)
$$;
