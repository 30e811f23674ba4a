import { IN_SCOPE, rowCheck } from '../check.js';

/** Ended runs hold no slot and wait for none, and no key has more holders than slots. */
export const slots = rowCheck(
  'A worker’s sweep frees it within seconds: check that one is alive, then run the doctor again.',
  `SELECT r.id AS run, 'has ended, but holds a slot of its flow’s concurrency' AS says
    FROM slot s JOIN run r ON r.id = s.run_id WHERE s.held AND r.finished_at IS NOT NULL AND ${IN_SCOPE}`,
  `SELECT r.id AS run, 'has ended, but waits for a slot' AS says
    FROM slot_lane q JOIN run r ON r.id = q.run_id WHERE r.finished_at IS NOT NULL AND ${IN_SCOPE}`,
  `SELECT NULL AS run, format('%s runs hold a slot of %s, which has %s', count(*), s.key, max(s.most)) AS says
    FROM slot s WHERE s.held AND $1::text IS NULL GROUP BY s.workspace_id, s.key HAVING count(*) > max(s.most)`,
);
