import { forEachParallel } from '../../../shared/for-each-parallel.js';
import { type Check, type Fault, IN_SCOPE, type Scene } from '../check.js';

interface LiveRun {
  readonly id: string;
  readonly parentEnded: boolean;
}

const AT_ONCE = 20;

/** Each live run, and no other, has an open workflow or an outbox row that will start it. */
export const workflows: Check = {
  remedy: 'A worker’s reconciler repairs this within two minutes: check that one is alive, then run the doctor again.',
  async find(scene) {
    const { db, workflows: temporal } = scene.deps;
    const open = new Set<string>();
    for await (const { id } of temporal.openRuns()) open.add(id);
    const live = await liveRuns(scene);
    const missing = live.filter(({ id }) => !open.has(id));
    // The visibility index lags, so ask the workflow itself.
    const without = await differing(missing, async ({ id }) => (await temporal.describeRun(id)) !== 'running');
    const [known] = await db.query<{ ended: string[] }>(
      `SELECT coalesce(array_agg(i.id), '{}') AS ended FROM unnest($2::text[]) i(id) LEFT JOIN run r ON r.id = i.id
        WHERE r.id IS NULL AND $1::text IS NULL OR r.finished_at IS NOT NULL AND ${IN_SCOPE}
          AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.run_id = r.id)`,
      [scene.root, [...open]],
    );
    const late = await differing(known?.ended ?? [], async (id) => (await temporal.describeRun(id)) === 'running');
    return [
      ...without.map(({ id }) => ({ run: id, says: 'is live, but has no open workflow' })),
      ...live
        .filter(({ parentEnded }) => parentEnded)
        .map(({ id }): Fault => ({ run: id, says: 'outlives the run above it' })),
      ...late.map((id) => ({ run: id, says: 'is not live, but its workflow is open' })),
    ];
  },
};

/**
 * Live runs that should have a workflow: not those that wait for a slot, nor a child that its parent has yet to start.
 */
function liveRuns({ deps, root }: Scene): Promise<LiveRun[]> {
  return deps.db.query<LiveRun>(
    `SELECT r.id, coalesce(p.finished_at IS NOT NULL, false) AS "parentEnded"
      FROM run r LEFT JOIN run p ON p.id = r.parent_id
      WHERE r.finished_at IS NULL AND ${IN_SCOPE}
        AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.run_id IN (r.id, r.root_id) AND o.kind = 'start')
        AND NOT EXISTS (SELECT 1 FROM slot_lane q WHERE q.run_id = r.id AND q.state = 'waiting' AND q.starts)
        AND (r.parent_id IS NULL OR r.started_at IS NOT NULL OR p.finished_at IS NOT NULL)`,
    [root],
  );
}

async function differing<T>(all: readonly T[], differs: (one: T) => Promise<boolean>): Promise<T[]> {
  const found: T[] = [];
  await forEachParallel(all, AT_ONCE, async (one) => {
    if (await differs(one)) found.push(one);
  });
  return found;
}
