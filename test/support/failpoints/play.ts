import { setTimeout as sleep } from 'node:timers/promises';
import type { EvalRunView } from '../../../src/contract/evals.js';
import type { RunView } from '../../../src/contract/runs.js';
import { flow } from '../flows.js';
import { markOf, untilNews } from '../run-news.js';
import { sendWithRetry } from '../send-with-retry.js';
import { type DrivenService, release } from '../service.js';
import { fileList } from '../workspace-app.js';
import type { Ask, Doing, Job, Person } from './job.js';
import { HALF_A_DAY_AWAY, outsideOf } from './outside.js';
import type { Receiver } from './receiver.js';

export type Keys = Readonly<Record<Person, string>>;

/** Where a job is played. */
export interface Place {
  readonly service: DrivenService;
  readonly keys: Keys;
  readonly receiver: Receiver;
}

/** Longer than all workers of the table take, one after the other, on a machine that is busy. */
const ENDS_WITHIN_MS = 300_000;
/** Many jobs are looked at at once. */
const PACE = { lookMs: 100, atMostMs: 500 };

/** The whole job of a row, from the making of its workspace on. Answers the ids of its runs. */
export async function play(
  { job, workspace }: { readonly job: Job; readonly workspace: string },
  place: Place,
): Promise<readonly string[]> {
  const { service, keys, receiver } = place;
  const until = async (id: string, holds: (run: RunView) => Promise<boolean>): Promise<RunView> => {
    for (const end = Date.now() + ENDS_WITHIN_MS; ; ) {
      const mark = await markOf(service.db, id);
      const view = await service.run(workspace, id);
      if (await holds(view)) return view;
      if (Date.now() > end) throw new Error(`the run stayed: ${JSON.stringify(view, null, 1).slice(0, 4_000)}`);
      await untilNews(service.db, { run: id, mark }, PACE);
    }
  };
  const post = poster(`${service.url}/api/workspaces`, { workspace, keys });
  const doing: Doing = {
    workspace,
    outside: outsideOf(workspace, place),
    post,
    start: async () => String((await post({ path: 'flows/it/run', body: { task: 'go' } })).runId),
    untilWaiting: (id) =>
      until(id, async ({ waiting, finishedAt, steps }) => {
        return waiting.length > 0 || finishedAt !== null || steps.some(({ decision }) => decision);
      }),
    drive: (id, alone) =>
      until(id, async (view) => {
        if (view.finishedAt === null && !alone) await release(service, workspace, view);
        return view.finishedAt !== null;
      }),
    evaluate: async () => endOfEval(String((await post({ path: 'evals/it/run', body: {} })).evalRunId)),
  };
  const endOfEval = async (id: string): Promise<readonly string[]> => {
    for (const end = Date.now() + ENDS_WITHIN_MS; ; await sleep(100)) {
      const headers = { authorization: `Bearer ${keys.owner}` };
      const response = await fetch(`${service.url}/api/workspaces/${workspace}/evals/it/runs/${id}`, { headers });
      const run = (await response.json()) as EvalRunView;
      if (run.finishedAt !== null && run.ok) return run.cases.flatMap(({ runId }) => runId ?? []);
      const stayed = run.finishedAt !== null || Date.now() > end;
      if (stayed) throw new Error(`the eval run stayed: ${JSON.stringify(run, null, 1).slice(0, 4_000)}`);
    }
  };
  await post({ path: null, body: { name: workspace, files: filesOf(job, `${receiver.url}/${workspace}`) } });
  return job.does(doing);
}

/** Each request under a key of its own place in the job; one that is told to come back later comes back with it. */
function poster(url: string, { workspace, keys }: { readonly workspace: string; readonly keys: Keys }) {
  let asked = 0;
  return async ({ path, body, as = 'owner' }: Ask): Promise<Readonly<Record<string, unknown>>> => {
    asked += 1;
    const headers = {
      authorization: `Bearer ${keys[as]}`,
      'content-type': 'application/json',
      'idempotency-key': `${workspace}-${asked}`,
    };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await sendWithRetry(() => fetch(path === null ? url : `${url}/${workspace}/${path}`, init));
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Readonly<Record<string, unknown>>;
  };
}

function filesOf({ flow: text, keys = '', cases, files = {} }: Job, receiver: string) {
  const filled = keys.replace('{receiver}', receiver).replace('{half a day away}', HALF_A_DAY_AWAY);
  return fileList({
    'AGENTS.md': '# Shop\n\nBe brief.\n',
    'agents/worker.md': '---\nname: worker\ndescription: Works.\n---\n\nYou work.\n',
    'agents/counter.md': '---\nname: counter\ndescription: Counts.\nmodel: small\n---\n\nYou count.\n',
    'agents/lead.md': '---\nname: lead\ndescription: Leads.\nagents: [worker]\n---\n\nYou lead.\n',
    ...(text === undefined ? {} : { 'flows/it.md': flow(text, filled) }),
    ...(cases === undefined ? {} : { 'evals/it.md': `---\ntarget: flows/it\ntrigger: manual\n---\n\n${cases}` }),
    ...files,
  });
}
