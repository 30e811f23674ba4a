import { setTimeout as sleep } from 'node:timers/promises';
import type { Service } from '../service-host.js';
import type { OptionModel } from './model.js';
import type { NamedCase } from './row.js';
import { type CaseRun, type OptionService, RUNNING_CASES } from './service.js';

/** Longer than a machine takes that is busy with other tests. */
const ENDS_WITHIN_MS = 300_000;
const STANDS_WITHIN_MS = 300_000;

/** Moves the runs on until all have ended, doing what their people do. */
export async function untilEnded(service: OptionService, runs: readonly CaseRun[]): Promise<void> {
  const until = Date.now() + ENDS_WITHIN_MS;
  for (;;) {
    const { live, waiting } = await look(service, runs);
    if (live.length === 0) return;
    if (Date.now() > until) throw new Error(`these runs stay: ${live.map(({ entry }) => entry.name).join(', ')}`);
    for (const run of waiting) await service.answer(run);
    await sleep(100);
  }
}

/** Moves the runs on until each has come where its worker is to be killed. */
export async function untilAllStand(
  service: OptionService,
  model: OptionModel,
  runs: readonly CaseRun[],
): Promise<void> {
  const until = Date.now() + STANDS_WITHIN_MS;
  const parked = new Set<string>();
  for (;;) {
    const { waiting } = await look(service, runs);
    for (const { entry } of waiting) parked.add(entry.name);
    const stands = ({ entry: { name, option } }: CaseRun) =>
      option.killedIn === 'wait' ? parked.has(name) : model.held.has(name);
    const away = runs.filter((run) => !run.isSecond && !stands(run));
    if (away.length === 0) return;
    if (Date.now() > until)
      throw new Error(`these do not come there: ${away.map(({ entry }) => entry.name).join(', ')}`);
    // Those that are killed in a wait keep it.
    for (const run of waiting) if (run.entry.option.killedIn !== 'wait') await service.answer(run);
    await sleep(100);
  }
}

/** Moves the runs on until the worker has died under them. */
export async function untilDead(service: OptionService, worker: Service, runs: readonly CaseRun[]): Promise<void> {
  let died = false;
  void worker.exited.then(() => {
    died = true;
  });
  while (!died) {
    const { live, waiting } = await look(service, runs);
    if (live.length === 0)
      throw new Error(`nothing came by the point: ${runs.map(({ entry }) => entry.name).join(', ')}`);
    for (const run of waiting) await service.answer(run);
    await sleep(50);
  }
}

async function look({ api }: OptionService, runs: readonly CaseRun[]) {
  const rows = await api.db.query<{ id: string; ended: boolean; waits: boolean }>(
    `SELECT id, finished_at IS NOT NULL AS ended, EXISTS (SELECT 1 FROM step s WHERE s.run_id = r.id AND s.status = 'waiting')
      AS waits FROM run r WHERE id = ANY($1)`,
    [runs.map(({ door }) => door.run)],
  );
  const of = (run: CaseRun) => rows.find(({ id }) => id === run.door.run);
  return {
    live: runs.filter((run) => !of(run)?.ended),
    waiting: runs.filter((run) => of(run)?.waits && !of(run)?.ended),
  };
}

/** A run of each of these cases, all at once. */
export async function startAll(
  service: OptionService,
  cases: readonly NamedCase[] = RUNNING_CASES,
): Promise<CaseRun[]> {
  return (await Promise.all(cases.map((entry) => service.start(entry)))).flat();
}
