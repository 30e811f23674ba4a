-- What the live revisions of these workspaces say of schedules: the rows of "schedule" follow it, and the doctor holds
-- them against it.
CREATE FUNCTION scheduled_flows(ids text[]) RETURNS TABLE (workspace_id text, flow text, tenant_id text, cron text,
  timezone text, catch_up text, overlap text, enabled boolean) LANGUAGE sql STABLE AS $$
  SELECT w.id, substr(x.target, 7), w.tenant_id, p.body->'trigger'->>'cron',
    coalesce(p.body->'trigger'->>'timezone', p.body->'workspace'->>'timezone', t.timezone, o.timezone, 'UTC'),
    coalesce(p.body->'trigger'->>'catch_up', 'last'), coalesce(p.body->'trigger'->>'overlap', 'skip'),
    (p.body->>'enabled')::boolean
  FROM workspace w JOIN tenant t ON t.id = w.tenant_id JOIN member o ON o.id = t.owner_id
    JOIN revision r ON r.workspace_id = w.id AND r.seq = w.live_seq
    CROSS JOIN LATERAL jsonb_each_text(r.plans) AS x (target, plan)
    JOIN plan p ON p.workspace_id = w.id AND p.id = x.plan
  WHERE w.id = ANY(ids) AND w.preview_of IS NULL AND x.target LIKE 'flows/%'
    AND p.body->'triggers' ? 'schedule' AND p.body->'trigger'->>'cron' IS NOT NULL
$$;

CREATE OR REPLACE FUNCTION follow_schedules(ids text[]) RETURNS void LANGUAGE sql AS $$
  WITH live AS MATERIALIZED (SELECT * FROM scheduled_flows(ids)),
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
