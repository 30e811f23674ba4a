-- state/<flow>.md: how the last run of a flow ended, and its result. It is read from the run's rows and stored nowhere else,
-- so it can neither lag behind them nor outlive them.
CREATE INDEX run_last_of_flow_idx ON run (workspace_id, flow, finished_at DESC)
  WHERE finished_at IS NOT NULL AND started_at IS NOT NULL AND mode = 'normal' AND NOT starts_with(flow, 'agents/');

CREATE FUNCTION state_text(r run) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT concat(
    '---', E'\nflow: ', r.flow, E'\nrun: ', r.id, E'\nstatus: ', r.status,
    E'\nstarted: ', to_char(r.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    E'\nfinished: ', to_char(r.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), E'\n---\n',
    E'\nError: ' || r.error || E'\n',
    (SELECT E'\n' || left(s.result, 200000) || E'\n' FROM step s
      WHERE s.run_id = r.id AND s.item = 0 AND s.status = 'completed' AND s.result <> ''
      ORDER BY s.finished_at DESC NULLS LAST, s.started_at DESC LIMIT 1))
$$;

CREATE FUNCTION flow_states(workspace text) RETURNS TABLE (path text, content text) LANGUAGE sql STABLE AS $$
  WITH RECURSIVE flows (flow) AS (
    (SELECT r.flow FROM run r WHERE r.workspace_id = workspace
        AND r.finished_at IS NOT NULL AND r.started_at IS NOT NULL AND r.mode = 'normal' AND NOT starts_with(r.flow, 'agents/')
      ORDER BY r.flow LIMIT 1)
    UNION ALL
    SELECT (SELECT r.flow FROM run r WHERE r.workspace_id = workspace AND r.flow > f.flow
        AND r.finished_at IS NOT NULL AND r.started_at IS NOT NULL AND r.mode = 'normal' AND NOT starts_with(r.flow, 'agents/')
      ORDER BY r.flow LIMIT 1)
      FROM flows f WHERE f.flow IS NOT NULL
  )
  SELECT concat('state/', f.flow, '.md'), last.content
    FROM flows f CROSS JOIN LATERAL (
      SELECT state_text(r) AS content FROM run r WHERE r.workspace_id = workspace AND r.flow = f.flow
        AND r.finished_at IS NOT NULL AND r.started_at IS NOT NULL AND r.mode = 'normal' AND NOT starts_with(r.flow, 'agents/')
      ORDER BY r.finished_at DESC LIMIT 1) last
$$;
