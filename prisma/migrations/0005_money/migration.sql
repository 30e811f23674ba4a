-- What is spent and set aside under a cap that several calls share, by its key: `run/<id>` is a run's budget over its whole
-- tree, `run/<id>/step/<step>` and `run/<id>/agent/<name>` are those of a step and of an agent in a run. `cap` is that of a
-- step with runs under it, which know it by this row alone. In the order of bytes: rows are locked in that order.
CREATE TABLE "spent" (
    "key" TEXT COLLATE "C" NOT NULL,
    "nano" BIGINT NOT NULL DEFAULT 0,
    "held" BIGINT NOT NULL DEFAULT 0,
    "cap" BIGINT,

    CONSTRAINT "spent_pkey" PRIMARY KEY ("key")
);

-- Whose call holds how much of it: one model call is in flight a lane.
CREATE TABLE "hold" (
    "key" TEXT COLLATE "C" NOT NULL,
    "run_id" TEXT NOT NULL,
    "lane" TEXT NOT NULL,
    "nano" BIGINT NOT NULL,

    CONSTRAINT "hold_pkey" PRIMARY KEY ("run_id", "lane", "key")
);

CREATE INDEX "hold_key_idx" ON "hold"("key");

-- True for a lane that was named, and for what was forked off it.
CREATE FUNCTION is_within(lane text, tops text[]) RETURNS boolean LANGUAGE sql IMMUTABLE AS
$$ SELECT EXISTS (SELECT 1 FROM unnest(tops) top WHERE lane = top OR starts_with(lane, top || '/')) $$;

-- Books the model calls that these runs, and those lanes (`tops`) of one more, had in flight at what they set aside, but
-- not that of the lane `but`, which settles its own. The caller holds the runs' rows. What they held of caps is its business too.
CREATE FUNCTION book_calls(runs text[], of_run text, tops text[], but text) RETURNS void LANGUAGE sql AS $$
  WITH c AS (
    UPDATE call SET state = 'interrupted', finished_at = now()
    WHERE state = 'started' AND kind = 'model' AND lane IS DISTINCT FROM but
      AND (run_id = ANY(runs) OR (run_id = of_run AND is_within(lane, tops)))
    RETURNING run_id, step, item, round, name, coalesce((result->>'reserve')::bigint, 0) AS nano
  ),
  u AS (
    INSERT INTO usage (tenant_id, workspace_id, run_id, step, meter, model, nano, source, estimated)
    SELECT r.tenant_id, r.workspace_id, r.id, c.step, 'model', c.name, c.nano, 'reserve', true
    FROM c JOIN run r ON r.id = c.run_id WHERE c.nano > 0
  ),
  s AS (
    UPDATE step SET cost_nano = cost_nano + x.nano
    FROM (SELECT run_id, step, item, round, sum(nano)::bigint AS nano FROM c GROUP BY 1, 2, 3, 4) x
    WHERE step.run_id = x.run_id AND step.id = x.step AND step.item = x.item AND step.round = x.round AND x.nano > 0
  )
  UPDATE run SET spent_nano = spent_nano + x.nano,
    reserved_nano = CASE WHEN finished_at IS NULL THEN reserved_nano - x.nano ELSE 0 END
  FROM (SELECT run_id, sum(nano)::bigint AS nano FROM c GROUP BY 1) x WHERE run.id = x.run_id AND x.nano > 0
$$;

-- The same, and what those calls held of caps is spent. Call it once a transaction: it locks rows of `spent` in the order of
-- their keys, and two passes would break that order.
CREATE FUNCTION book_lost(runs text[], of_run text, tops text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  k record;
BEGIN
  PERFORM book_calls(runs, of_run, tops, NULL);
  FOR k IN
    WITH gone AS (
      DELETE FROM hold WHERE run_id = ANY(runs) OR (run_id = of_run AND is_within(lane, tops)) RETURNING key, nano)
    SELECT key, sum(nano)::bigint AS nano FROM gone GROUP BY key ORDER BY key
  LOOP
    UPDATE spent SET nano = nano + k.nano, held = held - k.nano WHERE key = k.key;
  END LOOP;
END $$;

-- The part of a journal write that is about shared caps, called under the lock of the run's row: what the lane's call held
-- is given back, what was used is booked under the caps it was made under, what the next call needs is set aside, under each
-- cap or, with SQLSTATE SB402, nowhere. With the run's end go the calls that its other lanes still had in flight. One pass,
-- in the order of keys. A function, since its queries see what was committed while the statement waited for a lock.
CREATE FUNCTION hold_caps(of_run text, of_lane text, j jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  k record;
  ends boolean := j->>'end' IS NOT NULL;
  reserve bigint := (j->>'reserve')::bigint;
  frees boolean := ends OR reserve > 0 OR (j->>'release')::bigint > 0;
  mine bigint;
BEGIN
  IF ends THEN
    PERFORM book_calls(ARRAY[of_run], NULL, NULL, of_lane);
  END IF;
  FOR k IN
    WITH gone AS (
      DELETE FROM hold WHERE run_id = of_run AND (ends OR (frees AND lane = of_lane)) RETURNING key, lane, nano)
    SELECT x.key, max(x.cap) AS cap, sum(x.used)::bigint AS used, sum(x.freed)::bigint AS freed FROM (
      SELECT c.key, c.cap, 0 AS used, 0 AS freed FROM jsonb_to_recordset(j->'caps') c(key text, cap bigint)
      UNION ALL
      SELECT y.key, NULL, u.nano, 0 FROM jsonb_to_recordset(j->'usage') u(nano bigint, keys jsonb),
        jsonb_array_elements_text(u.keys) y(key) WHERE u.nano IS NOT NULL
      UNION ALL
      SELECT g.key, NULL, CASE WHEN g.lane = of_lane THEN 0 ELSE g.nano END, g.nano FROM gone g) x
    GROUP BY x.key ORDER BY x.key COLLATE "C"
  LOOP
    mine := CASE WHEN reserve > 0 AND k.cap IS NOT NULL THEN reserve ELSE 0 END;
    UPDATE spent SET nano = nano + k.used, held = held - k.freed + mine
      WHERE key = k.key AND (mine = 0 OR nano + k.used + held - k.freed + mine <= k.cap);
    IF mine > 0 THEN
      IF NOT FOUND THEN
        RAISE EXCEPTION 'over the cap of %', k.key USING ERRCODE = 'SB402';
      END IF;
      INSERT INTO hold (key, run_id, lane, nano) VALUES (k.key, of_run, of_lane, mine);
    END IF;
  END LOOP;
END $$;
