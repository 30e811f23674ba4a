-- CreateTable
CREATE TABLE "schedule" (
    "workspace_id" TEXT NOT NULL,
    "flow" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "cron" TEXT NOT NULL,
    "timezone" TEXT NOT NULL,
    "catch_up" TEXT NOT NULL,
    "overlap" TEXT NOT NULL,
    "enabled" BOOLEAN NOT NULL,
    "paused" BOOLEAN NOT NULL DEFAULT false,
    "gone" BOOLEAN NOT NULL DEFAULT false,
    "settled_until" TIMESTAMPTZ(3) NOT NULL,
    "version" BIGSERIAL NOT NULL,
    "told" BOOLEAN NOT NULL DEFAULT false,
    "told_until" TIMESTAMPTZ(3),

    CONSTRAINT "schedule_pkey" PRIMARY KEY ("workspace_id","flow")
);

-- CreateTable
CREATE TABLE "firing" (
    "workspace_id" TEXT NOT NULL,
    "flow" TEXT NOT NULL,
    "scheduled_for" TIMESTAMPTZ(3) NOT NULL,
    "until" TIMESTAMPTZ(3),
    "times" INTEGER NOT NULL DEFAULT 1,
    "outcome" TEXT NOT NULL,
    "reason" TEXT,
    "run_id" TEXT,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "firing_pkey" PRIMARY KEY ("workspace_id","flow","scheduled_for")
);

-- CreateIndex
CREATE INDEX "schedule_tenant_id_idx" ON "schedule"("tenant_id");

-- What Temporal has still to be told of, and what waits for the run before it: both are few.
CREATE INDEX schedule_untold_idx ON schedule (workspace_id, flow) WHERE NOT told;
CREATE INDEX firing_waiting_idx ON firing (workspace_id, flow, scheduled_for) WHERE outcome = 'waiting';
CREATE INDEX run_scheduled_idx ON run (workspace_id, flow) WHERE finished_at IS NULL AND trigger->>'kind' = 'schedule';

-- Makes the rows of these workspaces what their live revisions say, by whichever door those came. A line that says
-- something new begins at this moment; what did not change keeps what it has settled.
CREATE FUNCTION follow_schedules(ids text[]) RETURNS void LANGUAGE sql AS $$
  WITH live AS MATERIALIZED (
    SELECT w.id AS workspace_id, substr(x.target, 7) AS flow, w.tenant_id,
      p.body->'trigger'->>'cron' AS cron,
      coalesce(p.body->'trigger'->>'timezone', p.body->'workspace'->>'timezone', t.timezone, o.timezone, 'UTC') AS timezone,
      coalesce(p.body->'trigger'->>'catch_up', 'last') AS catch_up,
      coalesce(p.body->'trigger'->>'overlap', 'skip') AS overlap,
      (p.body->>'enabled')::boolean AS enabled
    FROM workspace w JOIN tenant t ON t.id = w.tenant_id JOIN member o ON o.id = t.owner_id
      JOIN revision r ON r.workspace_id = w.id AND r.seq = w.live_seq
      CROSS JOIN LATERAL jsonb_each_text(r.plans) AS x (target, plan)
      JOIN plan p ON p.workspace_id = w.id AND p.id = x.plan
    WHERE w.id = ANY(ids) AND w.preview_of IS NULL AND x.target LIKE 'flows/%'
      AND p.body->'triggers' ? 'schedule' AND p.body->'trigger'->>'cron' IS NOT NULL),
  lost AS (
    UPDATE schedule s SET gone = true, told = false, version = nextval('schedule_version_seq')
    WHERE s.workspace_id = ANY(ids) AND NOT s.gone
      AND NOT EXISTS (SELECT 1 FROM live l WHERE l.workspace_id = s.workspace_id AND l.flow = s.flow))
  INSERT INTO schedule AS s (workspace_id, flow, tenant_id, cron, timezone, catch_up, overlap, enabled, settled_until)
    SELECT workspace_id, flow, tenant_id, cron, timezone, catch_up, overlap, enabled, clock_timestamp() FROM live
    ORDER BY workspace_id, flow
  ON CONFLICT (workspace_id, flow) DO UPDATE SET
    cron = excluded.cron, timezone = excluded.timezone, enabled = excluded.enabled, catch_up = excluded.catch_up,
    overlap = excluded.overlap, gone = false, paused = s.paused AND NOT s.gone,
    settled_until = CASE WHEN s.gone OR (s.cron, s.timezone, s.enabled) IS DISTINCT FROM (excluded.cron, excluded.timezone, excluded.enabled)
      THEN greatest(s.settled_until, excluded.settled_until) ELSE s.settled_until END,
    told = s.told AND NOT s.gone AND (s.cron, s.timezone, s.enabled) IS NOT DISTINCT FROM (excluded.cron, excluded.timezone, excluded.enabled),
    version = nextval('schedule_version_seq')
  WHERE s.gone OR (s.cron, s.timezone, s.enabled, s.catch_up, s.overlap)
    IS DISTINCT FROM (excluded.cron, excluded.timezone, excluded.enabled, excluded.catch_up, excluded.overlap)
$$;

CREATE FUNCTION schedules_of_workspace() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    UPDATE schedule SET gone = true, told = false, version = nextval('schedule_version_seq') WHERE workspace_id = OLD.id;
  ELSE
    PERFORM follow_schedules(ARRAY[NEW.id]);
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION schedules_of_tenant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM follow_schedules(ARRAY(SELECT id FROM workspace WHERE tenant_id = NEW.id));
  RETURN NULL;
END $$;

CREATE FUNCTION schedules_of_member() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM follow_schedules(ARRAY(SELECT w.id FROM workspace w JOIN tenant t ON t.id = w.tenant_id WHERE t.owner_id = NEW.id));
  RETURN NULL;
END $$;

CREATE TRIGGER schedules_follow_revision AFTER UPDATE OF live_seq OR DELETE ON workspace
  FOR EACH ROW EXECUTE FUNCTION schedules_of_workspace();
CREATE TRIGGER schedules_follow_account AFTER UPDATE OF timezone, owner_id ON tenant FOR EACH ROW
  WHEN ((OLD.timezone, OLD.owner_id) IS DISTINCT FROM (NEW.timezone, NEW.owner_id)) EXECUTE FUNCTION schedules_of_tenant();
CREATE TRIGGER schedules_follow_owner AFTER UPDATE OF timezone ON member FOR EACH ROW
  WHEN (OLD.timezone IS DISTINCT FROM NEW.timezone) EXECUTE FUNCTION schedules_of_member();

-- What is live already is scheduled from now on.
SELECT follow_schedules(ARRAY(SELECT id FROM workspace));
