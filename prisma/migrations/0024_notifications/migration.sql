-- AlterTable
ALTER TABLE "tenant" ADD COLUMN     "notify_key" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "notify_key_at" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "notice" (
    "id" BIGSERIAL NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "workspace_id" TEXT,
    "run_id" TEXT,
    "event" TEXT NOT NULL,
    "data" JSONB NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "notice_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "notification" (
    "id" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "run_id" TEXT,
    "park" TEXT,
    "event" TEXT NOT NULL,
    "channel" TEXT NOT NULL,
    "target" TEXT NOT NULL,
    "content" JSONB NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'pending',
    "tries" INTEGER NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ended_at" TIMESTAMPTZ(3),
    "last_error" TEXT,

    CONSTRAINT "notification_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "notification_state_due_at_idx" ON "notification"("state", "due_at");

-- CreateIndex
CREATE INDEX "notification_tenant_id_created_at_id_idx" ON "notification"("tenant_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "notification_created_at_idx" ON "notification"("created_at");

-- What people are told of is noted in the transaction of the event itself, whoever writes it. An eval's run and a
-- preview tell nobody, and of the end of a run that another one started the other one tells.
CREATE FUNCTION note_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO notice (tenant_id, workspace_id, run_id, event, data)
  SELECT r.tenant_id, r.workspace_id, r.id, NEW.type, NEW.data FROM run r JOIN workspace w ON w.id = r.workspace_id
    WHERE r.id = NEW.run_id AND r.mode <> 'eval' AND w.preview_of IS NULL
      AND (r.parent_id IS NULL OR NEW.type NOT IN ('run.completed', 'run.failed'));
  RETURN NULL;
END $$;

CREATE TRIGGER note_event AFTER INSERT ON run_event FOR EACH ROW
  WHEN (NEW.type IN ('approval.requested', 'approval.escalated', 'approval.reminder', 'approval.timeout',
    'run.completed', 'run.failed', 'budget.warning', 'budget.reached'))
  EXECUTE FUNCTION note_event();

CREATE FUNCTION note_connection() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO notice (tenant_id, event, data)
    VALUES (NEW.tenant_id, 'connection.expired', jsonb_build_object('secret', NEW.target, 'reason', NEW.detail->>'reason'));
  RETURN NULL;
END $$;

CREATE TRIGGER note_connection AFTER INSERT ON audit_entry FOR EACH ROW
  WHEN (NEW.action = 'secret.reconnect') EXECUTE FUNCTION note_connection();
