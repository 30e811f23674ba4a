import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunView } from '../../../src/contract/runs.js';
import { newId } from '../../../src/shared/ids.js';
import { audit } from '../doctor.js';
import type { FakeCall } from '../fake-provider.js';
import { flow } from '../flows.js';
import { sendWithRetry } from '../send-with-retry.js';
import { createServices } from '../service.js';
import { sharedServers } from '../shared-servers.js';
import type { Tree } from '../workspace-app.js';
import { CASES } from './index.js';
import { markOf, type OptionModel } from './model.js';
import { answerWaits, credentialsOf, type Door } from './people.js';
import type { NamedCase } from './row.js';

/** One run of a case, and what is known of it. */
export interface CaseRun {
  readonly entry: NamedCase;
  readonly door: Door;
  readonly isSecond: boolean;
  readonly shows: object;
  readonly answered: Set<string>;
  /** The model calls that were recorded as finished when its worker was killed, and how often each was made. */
  recorded: readonly (readonly [key: string, count: number])[];
}

/** An API process over one workspace a case, and workers in processes of their own that come and go. */
export async function startOptionService(model: OptionModel) {
  const servers = await sharedServers();
  const services = await createServices(model);
  const dataDir = await services.folder();
  const models = join(dataDir, 'models.yaml');
  const entry = (name: string) =>
    `{ provider: openai-compatible, baseUrl: "${model.url}", model: ${name}, priceIn: 1, priceOut: 10 }`;
  await writeFile(models, `default: usual\nmodels:\n  usual: ${entry('fake')}\n  strong: ${entry('fake-strong')}\n`);
  const env = { ...servers.env, SERVICE_MODELS_FILE: models };
  const api = await services.startService({ dataDir, env: { ...env, SERVICE_ROLE: 'api' } });
  const { key } = JSON.parse(await readFile(join(dataDir, 'bootstrap.json'), 'utf8')) as { key: string };
  const people = await credentialsOf(api.db, api.url, key);
  const secret = JSON.stringify({ name: 'API_TOKEN', value: 'a-token-of-the-options' });
  await api.request('/api/secrets', { method: 'PUT', body: secret, headers: { 'content-type': 'application/json' } });
  const workspaces = new Map<string, string>();

  async function workspaceOf(named: NamedCase): Promise<string> {
    const known = workspaces.get(named.name);
    if (known !== undefined) return known;
    const made = await api.workspace(treeOf(named));
    workspaces.set(named.name, made);
    return made;
  }

  return {
    api,
    startWorker: (more: Readonly<Record<string, string>> = {}) => services.startWorker(dataDir, { ...env, ...more }),
    workspaceOf,
    reportDeaths: servers.reportDeaths,
    /** The run of a case, and the second one of a case that has two. */
    async start(named: NamedCase): Promise<CaseRun[]> {
      const { option } = named;
      const workspace = await workspaceOf(named);
      const body = option.start ?? { task: 'go' };
      const runOf = (run: string, shows: object, isSecond: boolean): CaseRun => {
        const door = { url: api.url, workspace, run, people, view: () => api.run(workspace, run) };
        return { entry: named, door, shows, isSecond, answered: new Set(), recorded: [] };
      };
      const first = runOf(await api.start(workspace, 'it', body), option.shows ?? {}, false);
      if (!option.second) return [first];
      const headers = { 'content-type': 'application/json', 'idempotency-key': newId() };
      const init = { method: 'POST', body: JSON.stringify(body), headers };
      const answer = await sendWithRetry(() => api.request(`/api/workspaces/${workspace}/flows/it/run`, init));
      const { runId } = (await answer.json()) as { runId?: string };
      if (answer.status !== option.second.status)
        throw new Error(`${named.name}: the second start got ${answer.status}`);
      return runId === undefined ? [first] : [first, runOf(runId, option.second.shows ?? {}, true)];
    },
    view: ({ door }: CaseRun): Promise<RunView> => door.view(),
    async answer(run: CaseRun): Promise<void> {
      await answerWaits(run.entry, run.door, await run.door.view(), run.answered);
    },
    /** The finished model calls of the run and its child runs, with how often each reached the provider. */
    async recordedCalls({ door }: CaseRun): Promise<CaseRun['recorded']> {
      const rows = await api.db.query<{ key: string }>(
        `SELECT concat_ws('/', c.run_id, c.step, c.item, c.round, c.attempt, c.turn) AS key FROM call c
          JOIN run r ON r.id = c.run_id WHERE r.root_id = $1 AND c.kind = 'model' AND c.state = 'finished'`,
        [door.run],
      );
      const made = model.byKey();
      return rows.map(({ key }) => [key, made.get(key) ?? 0] as const);
    },
    /** The calls that reached the provider for the run and its child runs. */
    async callsOf({ door }: CaseRun): Promise<readonly FakeCall[]> {
      const runs = await api.db.query<{ id: string }>('SELECT id FROM run WHERE root_id = $1', [door.run]);
      return model.calls.filter((call) => runs.some(({ id }) => call.idempotencyKey?.startsWith(`${id}/`)));
    },
    /** What the doctor finds; that a run which is to fail has failed is no fault. */
    async faults({ door, shows }: CaseRun): Promise<string[]> {
      const input = { db: api.db, dataDir, temporal: servers.temporal, runId: door.run, calls: model.byKey() };
      const found = await audit(input);
      const { status, steps = [] } = shows as { status?: string; steps?: readonly { status?: string }[] };
      const own = `a run did not complete: ${door.run} failed`;
      const isMeant = (fault: string) =>
        // The run, or the child of a step that is to fail.
        fault.startsWith(own)
          ? status === 'failed'
          : fault.startsWith('a run did not complete: ') && steps.some((step) => step.status === 'failed');
      return found.filter((fault) => !isMeant(fault));
    },
    async close() {
      await services.close();
      await servers.drop();
    },
  };
}

export type OptionService = Awaited<ReturnType<typeof startOptionService>>;

export const RUNNING_CASES = CASES.filter(({ option }) => option.shows !== undefined);

function treeOf({ name, option }: NamedCase): Tree {
  return {
    'AGENTS.md': '# Shop\n\nBe brief.\n',
    'agents/worker.md': `---\nname: worker\ndescription: Works.\n${option.agent ?? ''}---\n\n${markOf(name)}\n`,
    'flows/it.md': flow(option.flow, option.keys),
    ...option.files,
  };
}
