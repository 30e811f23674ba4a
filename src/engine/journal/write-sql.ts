import { endEventsSql } from '../rows/raise-ends.js';

/**
 * One journal write: one statement, hence one transaction. It locks the lane's row where the fence and the count of
 * writes match, `FOR UPDATE` (with a plain join on the fence a stale write could pass). Then it updates the run `WHERE
 * finished_at IS NULL`, which assigns `seq`, and inserts. No lane row means fenced; no run row means ended, or over its
 * budget. The lock order is lane, run, others everywhere, and `spent` rows by key.
 * `hold_caps` is an SQL function of the migration 0005_money: it settles and reserves under the shared budgets. Over
 * one of them it raises SQLSTATE SB402, and nothing is written.
 * $1 run, $2 lane, $3 fence, $4 the batch as JSON, $5 writes so far.
 */
const BODY = `
l AS MATERIALIZED (
  SELECT 1 FROM lane WHERE run_id = $1 AND lane = $2 AND fence = $3 AND writes = $5 FOR UPDATE
),
b AS MATERIALIZED (SELECT $4::jsonb AS j),
r AS (
  UPDATE run SET
    last_seq = last_seq + jsonb_array_length(b.j->'events'),
    gates_open = CASE WHEN b.j->>'end' IS NOT NULL THEN 0 ELSE gates_open + (b.j->>'gates')::int END,
    status = CASE
      WHEN b.j->>'end' IS NOT NULL THEN b.j->'end'->>'status'
      WHEN gates_open + (b.j->>'gates')::int > 0 THEN 'awaiting-approval'
      ELSE 'running' END,
    started_at = coalesce(started_at, now()),
    deadline_at = CASE WHEN started_at IS NULL AND parent_id IS NULL THEN deadline_at + (now() - created_at) ELSE deadline_at END,
    reserved_nano = CASE WHEN b.j->>'end' IS NOT NULL THEN 0 ELSE reserved_nano + (b.j->>'reserve')::bigint - (b.j->>'release')::bigint END,
    spent_nano = spent_nano + (b.j->>'spend')::bigint,
    memory_writes = CASE WHEN b.j->'memory' = '[]'::jsonb THEN memory_writes ELSE (
      SELECT array_agg(DISTINCT p) FROM (
        SELECT unnest(memory_writes) AS p UNION ALL SELECT jsonb_array_elements_text(b.j->'memory')) x) END,
    error = coalesce(b.j->'end'->>'error', error),
    summary = coalesce(b.j->'end'->>'summary', summary),
    finished_at = CASE WHEN b.j->>'end' IS NOT NULL THEN now() END
  FROM l, b
  WHERE run.id = $1 AND run.finished_at IS NULL
    AND ((b.j->>'reserve')::bigint <= 0 OR run.budget_nano IS NULL
      OR run.spent_nano + (b.j->>'spend')::bigint + run.reserved_nano - (b.j->>'release')::bigint + (b.j->>'reserve')::bigint <= run.budget_nano)
  RETURNING run.*
),
e AS (
  INSERT INTO run_event (run_id, seq, type, data)
  SELECT $1, r.last_seq - jsonb_array_length(b.j->'events') + x.n, x.v->>'type', x.v->'data'
  FROM r, b, jsonb_array_elements(b.j->'events') WITH ORDINALITY x(v, n)
),
c AS (
  INSERT INTO call (run_id, lane, step, item, round, attempt, epoch, turn, call, kind, name, acts, state, fence, result, finished_at)
  SELECT $1, $2, x.step, x.item, x.round, x.attempt, x.epoch, x.turn, x.call, x.kind, x.name, x.acts, x.state, $3, x.result,
    CASE WHEN x.state <> 'started' THEN now() END
  FROM r, b, jsonb_to_recordset(b.j->'calls') x(step text, item int, round int, attempt int, epoch int, turn int, call int,
    kind text, name text, acts boolean, state text, result jsonb)
  ON CONFLICT (run_id, step, item, round, attempt, epoch, turn, call) DO UPDATE SET
    state = excluded.state, fence = excluded.fence,
    starts = CASE WHEN call.state = 'interrupted' THEN 1 ELSE call.starts + (excluded.state = 'started')::int END,
    result = excluded.result, finished_at = excluded.finished_at
  WHERE call.state = 'started' OR (call.kind = 'model' AND call.state = 'interrupted')
  RETURNING 1
),
m AS (
  INSERT INTO message (run_id, step, item, round, attempt, epoch, seq, role, content)
  SELECT $1, x.step, x.item, x.round, x.attempt, x.epoch, x.seq, x.role, x.content
  FROM r, b, jsonb_to_recordset(b.j->'messages') x(step text, item int, round int, attempt int, epoch int, seq int, role text, content jsonb)
),
s AS (
  INSERT INTO step (run_id, lane, id, item, round, status, attempts, result, data, event_payload, decision, items, feedback, error,
    cost_nano, tokens_in, tokens_out, tokens_cached, finished_at)
  SELECT $1, $2, x.id, x.item, x.round, x.status, x.attempts, x.result, x.data, x.event_payload, x.decision, x.items, x.feedback, x.error,
    x.cost_nano, x.tokens_in, x.tokens_out, x.tokens_cached, CASE WHEN x.ended THEN now() END
  FROM r, b, jsonb_to_recordset(b.j->'steps') x(id text, item int, round int, status text, attempts int, result text, data jsonb,
    event_payload jsonb, decision jsonb, items jsonb, feedback text, error text, cost_nano bigint, tokens_in int, tokens_out int,
    tokens_cached int, ended boolean)
  ON CONFLICT (run_id, id, item, round) DO UPDATE SET
    status = excluded.status, attempts = excluded.attempts, result = excluded.result, data = excluded.data,
    event_payload = excluded.event_payload, decision = excluded.decision, items = excluded.items, feedback = excluded.feedback, error = excluded.error,
    cost_nano = excluded.cost_nano, tokens_in = excluded.tokens_in, tokens_out = excluded.tokens_out,
    tokens_cached = excluded.tokens_cached, finished_at = excluded.finished_at
),
p AS (
  INSERT INTO park (id, run_id, lane, step, item, round, kind, spec, need, due_at, remind_at, escalate_at)
  SELECT x.id, $1, $2, x.step, x.item, x.round, x.kind, x.spec, x.need, to_timestamp(x.due / 1000.0),
    to_timestamp(x.remind / 1000.0), to_timestamp(x.escalate / 1000.0)
  FROM r, b, jsonb_to_recordset(b.j->'parks') x(id text, step text, item int, round int, kind text, spec jsonb, need int, due float8,
    remind float8, escalate float8)
  ON CONFLICT (id) DO NOTHING
),
v AS (
  UPDATE park SET decided_at = now(), decision = 'void' FROM r, b
  WHERE park.run_id = $1 AND park.decided_at IS NULL AND (b.j->>'end' IS NOT NULL OR (park.kind = 'event' AND EXISTS (
    SELECT 1 FROM jsonb_to_recordset(b.j->'steps') x(id text, item int, round int, ended boolean)
    WHERE x.ended AND x.id = park.step AND x.item = park.item AND x.round = park.round)))
),
f AS (
  INSERT INTO lane (run_id, lane, item)
  SELECT $1, x.lane, x.item FROM r, b, jsonb_to_recordset(b.j->'lanes') x(lane text, item jsonb) ON CONFLICT DO NOTHING
),
k AS (
  INSERT INTO run (id, tenant_id, workspace_id, flow, plan_id, revision, library_seq, root_id, parent_id, mode, input, trigger, started_by,
    tags, budget_nano, deadline_at, slots, active_limit_ms, clocks, last_seq)
  SELECT x.id, r.tenant_id, r.workspace_id, x.flow, x.plan, r.revision, r.library_seq, r.root_id, r.id, r.mode, x.input,
    jsonb_build_object('kind', 'subflow', 'step', x.step), r.started_by, ARRAY(SELECT jsonb_array_elements_text(x.tags)), x.budget,
    to_timestamp(x.deadline / 1000.0), ARRAY(SELECT jsonb_array_elements_text(x.slots)), x."limit",
    ARRAY(SELECT jsonb_array_elements_text(x.clocks)), 1
  FROM r, b, jsonb_to_recordset(b.j->'children') x(id text, flow text, plan text, input jsonb, step text, budget bigint,
    deadline float8, tags jsonb, slots jsonb, "limit" bigint, clocks jsonb)
  ON CONFLICT DO NOTHING RETURNING id
),
k2 AS (INSERT INTO lane (run_id, lane) SELECT id, 'main' FROM k),
k3 AS (INSERT INTO run_event (run_id, seq, type, data) SELECT id, 1, 'run.queued', jsonb_build_object('parent', $1::text) FROM k),
u AS (
  INSERT INTO usage (tenant_id, workspace_id, run_id, step, meter, model, tokens_in, tokens_out, tokens_cached, nano, source, estimated)
  SELECT r.tenant_id, r.workspace_id, $1, x.step, x.meter, x.model, x.tokens_in, x.tokens_out, x.tokens_cached, x.nano, x.source, x.estimated
  FROM r, b, jsonb_to_recordset(b.j->'usage') x(step text, meter text, model text, tokens_in int, tokens_out int,
    tokens_cached int, nano bigint, source text, estimated boolean)
),
n AS (
  UPDATE lane SET writes = writes + 1, pos = (b.j->'at'->>'pos')::int, round = (b.j->'at'->>'round')::int,
    tries = (b.j->'at'->>'tries')::int, phase = b.j->'at'->>'phase', state = b.j->'at'->>'state',
    loops = b.j->'at'->'loops', error = b.j->'at'->>'error'
  FROM r, b WHERE run_id = $1 AND lane = $2
),
z AS (
  ${endEventsSql('r, b', `b.j->>'end' IS NOT NULL`)}
),
w AS MATERIALIZED (
  SELECT hold_caps($1, $2, b.j) FROM r, b WHERE (b.j->>'pools')::boolean OR b.j->>'end' IS NOT NULL
)
SELECT (SELECT count(*) FROM l)::int AS mine, (SELECT last_seq FROM r) AS seq, (SELECT count(*) FROM c)::int AS calls,
  (SELECT count(*) FROM w)::int AS held`;

export const WRITE = `WITH ${BODY}`;

/** The same without waiting for the disk, for content that may be lost with the database's last milliseconds. */
export const WRITE_SOFT = `WITH soft AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)),${BODY}, (SELECT count(*) FROM soft) AS soft`;
