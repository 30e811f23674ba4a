import type { Lane, StepState } from '../../lane/lane.js';
import { parseSavedPath } from './apply.js';

/** The whole text of a tool result of this attempt that was replaced by its path; null for an unknown path. */
export async function readSaved(lane: Lane, state: StepState, path: string): Promise<string | null> {
  const place = parseSavedPath(path);
  if (!place) return null;
  const [row] = await lane.deps.db.query<{ text: string | null }>({
    name: 'read-saved-result',
    text: `SELECT content->'results'->$6::int->>'text' AS text FROM message
      WHERE run_id = $1 AND step = $2 AND item = $3 AND round = $4 AND attempt = $5 AND seq = $7 AND role = 'tool'`,
    values: [lane.run.id, state.id, state.item, state.round, state.attempts, place.number - 1, place.seq],
  });
  return row?.text ?? null;
}
