import type { Db } from '../../src/platform/db/index.js';
import { createBlobStore } from '../../src/platform/storage/index.js';
import type { Order } from './client.js';
import { effectOf, type FlowName, kindOf } from './flows.js';

/** A call that was alone under suspicion at four deaths of its worker is given up: not a fault, but reported. */
const POISON = /the worker ended \d+ times during one model call/;

export interface Verdict {
  readonly faults: readonly string[];
  readonly counts: {
    readonly runs: Readonly<Record<string, number>>;
    readonly model: {
      readonly made: number;
      readonly recorded: number;
      readonly estimated: number;
      readonly twice: number;
    };
    readonly effects: { readonly recorded: number; readonly interrupted: number };
  };
}

export interface World {
  readonly db: Db;
  readonly dataDir: string;
  readonly orders: readonly Order[];
  /** How often each idempotency key reached the provider. */
  readonly calls: ReadonlyMap<string, number>;
  readonly decided: ReadonlyMap<string, number>;
}

/** What the rows say against what the world saw. */
export async function judge(world: World): Promise<Verdict> {
  const runs = await judgeRuns(world);
  const model = await judgeCalls(world);
  const effects = await judgeEffects(world);
  const twice = [...world.decided].filter(([, count]) => count > 1);
  return {
    faults: [
      ...runs.faults,
      ...model.faults,
      ...effects.faults,
      ...twice.map(([park, count]) => `park ${park} was decided ${count} times`),
    ],
    counts: { runs: runs.counts, model: model.counts, effects: effects.counts },
  };
}

interface RunRow {
  readonly id: string;
  readonly flow: FlowName;
  readonly tags: readonly string[];
  readonly status: string;
  readonly error: string | null;
}

async function judgeRuns({ db, orders }: World) {
  const rows = await db.query<RunRow>('SELECT id, flow, tags, status, error FROM run WHERE parent_id IS NULL');
  const byTag = new Map<string, RunRow[]>();
  for (const row of rows) for (const tag of row.tags) byTag.set(tag, [...(byTag.get(tag) ?? []), row]);
  const counts: Record<string, number> = {};
  const faults: string[] = [];
  for (const { flow, tag } of orders) {
    const found = byTag.get(tag) ?? [];
    if (found.length !== 1)
      faults.push(`${flow} was asked for once and has ${found.length} runs: ${found.map(({ id }) => id)}`);
    for (const run of found) {
      const how = endOf(run);
      counts[how] = (counts[how] ?? 0) + 1;
      if (how === 'wrong') faults.push(`run ${run.id} of ${flow} ended ${run.status}: ${run.error}`);
    }
  }
  if (rows.length > orders.length) faults.push(`${orders.length} runs were asked for, and there are ${rows.length}`);
  return { counts, faults };
}

/** How a run came out: as its flow says, overtaken by its own end, given up, or wrong. */
function endOf({ flow, status, error }: RunRow): string {
  const { ends, stopped } = kindOf(flow);
  if (ends === 'completed' && status === 'completed') return 'completed';
  if (ends !== 'completed' && status === 'failed' && ends.test(error ?? ''))
    return stopped ? 'stopped' : 'failed as meant';
  if (stopped && status === 'completed') return 'completed before the stop';
  return POISON.test(error ?? '') ? 'given up after deaths of its worker' : 'wrong';
}

interface CallRow {
  /** As the provider gets it. */
  readonly key: string;
  /** The key without round and attempt, which `model.started` does not say. */
  readonly place: string;
  readonly state: string;
}

async function judgeCalls({ db, calls }: World) {
  const rows = await db.query<CallRow>(
    `SELECT concat_ws('/', run_id, step, item, round, attempt, turn) AS key, concat_ws('/', run_id, step, item, turn) AS place,
            state FROM call WHERE kind = 'model'`,
  );
  const [usage] = await db.query<{ estimated: number }>('SELECT count(*)::int AS estimated FROM usage WHERE estimated');
  const starts = await startsByPlace(db);
  const places = new Map(rows.map(({ key, place }) => [key, place]));
  const made = new Map<string, number>();
  const faults: string[] = [];
  for (const [key, count] of calls) {
    const place = places.get(key);
    if (place === undefined) faults.push(`the provider was asked ${key}, which the journal does not know`);
    else made.set(place, (made.get(place) ?? 0) + count);
  }
  for (const { key, state } of rows)
    if (state === 'finished' && !calls.has(key)) faults.push(`the call ${key} is recorded, and no provider was asked`);
  // A call that was stopped before its request left was never made. A call without an answer may be retried.
  const more = [...made].filter(([place, count]) => count > (starts.get(place) ?? 0));
  for (const [place, count] of more)
    faults.push(`the provider was asked ${place} ${count} times for ${starts.get(place) ?? 0} starts`);
  const counts = {
    made: [...calls.values()].reduce((sum, count) => sum + count, 0),
    recorded: rows.filter(({ state }) => state === 'finished').length,
    estimated: usage?.estimated ?? 0,
    twice: more.length,
  };
  return { counts, faults };
}

/** How often each call was begun: its start is written, with this event, before the provider is asked. */
async function startsByPlace(db: World['db']): Promise<ReadonlyMap<string, number>> {
  const rows = await db.query<{ place: string; starts: number }>(
    `SELECT concat_ws('/', run_id, data->>'step', data->>'item', data->>'turn') AS place, count(*)::int AS starts
       FROM run_event WHERE type = 'model.started' GROUP BY 1`,
  );
  return new Map(rows.map(({ place, starts }) => [place, starts]));
}

interface EffectRow {
  readonly run: string;
  readonly step: string;
  readonly state: string;
  readonly kept: boolean;
  /** The model got an error: the effect may have happened once, or not. */
  readonly failed: boolean;
  readonly command: string;
}

/** Effects that were recorded as finished, in steps whose files were kept, happened once; others once at most. */
async function judgeEffects({ db, dataDir }: World) {
  const rows = await db.query<EffectRow>(
    `SELECT c.run_id AS run, c.step, c.state, s.status = 'completed' AS kept, (c.result->>'args') AS command,
        coalesce((c.result->>'isError')::boolean, false) AS failed
      FROM call c JOIN step s ON s.run_id = c.run_id AND s.id = c.step AND s.item = c.item AND s.round = c.round
      WHERE c.name = 'Bash' AND c.result->>'args' IS NOT NULL`,
  );
  const lines = await linesOf(db, dataDir);
  const faults: string[] = [];
  for (const { run, step, state, kept, failed, command } of rows) {
    const effect = effectOf(commandIn(command));
    if (effect === null) {
      faults.push(`the call of ${step} in run ${run} holds an unknown command: ${command}`);
      continue;
    }
    const done = lines.get(`${effect.path}:${effect.line}`) ?? 0;
    if (done > 1 || (state === 'finished' && kept && !failed && done !== 1))
      faults.push(`the effect ${effect.line} of ${step} in run ${run} (${state}) happened ${done} times`);
  }
  const count = (state: string) => rows.filter((row) => row.state === state).length;
  return { counts: { recorded: count('finished'), interrupted: count('interrupted') }, faults };
}

/** A call's arguments are kept as the text that people are shown. */
function commandIn(args: string): string {
  return /echo \S+ >> files\/[\w.-]+/.exec(args)?.[0] ?? args;
}

/** How often each line occurs in each kept file: `<path>:<line>`. */
async function linesOf(db: Db, dataDir: string): Promise<ReadonlyMap<string, number>> {
  const blobs = createBlobStore({ dataDir, s3: null });
  const files = await db.query<{ path: string; sha: string }>(
    `SELECT path, sha FROM storage_entry WHERE path LIKE 'files/%'`,
  );
  const counts = new Map<string, number>();
  for (const { path, sha } of files) {
    const text = Buffer.from((await blobs.get(sha)) ?? []).toString('utf8');
    for (const line of text.split('\n').filter((each) => each !== ''))
      counts.set(`${path}:${line}`, (counts.get(`${path}:${line}`) ?? 0) + 1);
  }
  return counts;
}
