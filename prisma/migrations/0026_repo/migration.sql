-- CreateTable
CREATE TABLE "code_push" (
    "id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "state" TEXT NOT NULL DEFAULT 'pending',
    "detail" TEXT,
    "host" TEXT,
    "delivery_key" TEXT,
    "repository" TEXT,
    "archive_url" TEXT,
    "branch" TEXT,
    "dir" TEXT,
    "commit" TEXT,
    "message" TEXT,
    "authors" TEXT[],
    "address" TEXT,
    "revision" TEXT,
    "tries" INTEGER NOT NULL DEFAULT 0,
    "claim" INTEGER NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "leased_until" TIMESTAMPTZ(3),
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "code_push_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "code_source" (
    "workspace_id" TEXT NOT NULL,
    "repository" TEXT NOT NULL,
    "secret_id" TEXT NOT NULL,
    "secret_version" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "code_source_pkey" PRIMARY KEY ("workspace_id")
);

-- CreateTable
CREATE TABLE "mirror" (
    "workspace_id" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "https" BOOLEAN NOT NULL DEFAULT true,
    "wanted" INTEGER NOT NULL DEFAULT 1,
    "done" INTEGER NOT NULL DEFAULT 0,
    "tries" INTEGER NOT NULL DEFAULT 0,
    "claim" INTEGER NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_at" TIMESTAMPTZ(3),
    "last_error" TEXT,

    CONSTRAINT "mirror_pkey" PRIMARY KEY ("workspace_id")
);

-- CreateIndex
CREATE UNIQUE INDEX "code_push_workspace_id_delivery_key_key" ON "code_push"("workspace_id", "delivery_key");

-- CreateIndex
CREATE INDEX "code_push_state_due_at_idx" ON "code_push"("state", "due_at");

-- CreateIndex
CREATE INDEX "mirror_due_at_idx" ON "mirror"("due_at");

-- A mirror is to be brought up to date after every change of what it shows, whoever makes it and in the same
-- transaction. What is being sent at the moment is sent again: it may have been read before the change.
CREATE FUNCTION want_mirror(workspace TEXT) RETURNS void LANGUAGE sql AS $$
  UPDATE mirror SET wanted = wanted + 1, tries = 0, due_at = least(due_at, now()) WHERE workspace_id = workspace;
$$;

CREATE FUNCTION live_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM want_mirror(NEW.id);
  RETURN NULL;
END $$;

CREATE TRIGGER mirror_live AFTER UPDATE OF live_seq ON workspace FOR EACH ROW
  WHEN (NEW.live_seq IS DISTINCT FROM OLD.live_seq) EXECUTE FUNCTION live_moved();

CREATE FUNCTION ref_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF coalesce(NEW.name, OLD.name) NOT LIKE 'refs/service/%' THEN
    PERFORM want_mirror(coalesce(NEW.workspace_id, OLD.workspace_id));
  END IF;
  RETURN NULL;
END $$;


CREATE TRIGGER mirror_ref AFTER INSERT OR UPDATE OR DELETE ON git_ref FOR EACH ROW EXECUTE FUNCTION ref_moved();
