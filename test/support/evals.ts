import type { EvalRunSummary, EvalRunView, StartedEval } from '../../src/contract/evals.js';
import type { EngineApp } from './create-engine-app.js';

/** What tests do with evals, over HTTP. */
export function evalVerbs(app: Pick<EngineApp, 'get' | 'post'>) {
  const at = (workspace: string, name: string) => `/api/workspaces/${workspace}/evals/${name}`;
  async function start(workspace: string, name: string, body: object = {}): Promise<StartedEval> {
    const response = await app.post(`${at(workspace, name)}/run`, body);
    if (response.status !== 202) throw new Error(`no eval run: ${response.status} ${await response.text()}`);
    return (await response.json()) as StartedEval;
  }
  async function read(workspace: string, name: string, id: string, query = ''): Promise<EvalRunView> {
    const response = await app.get(`${at(workspace, name)}/runs/${id}${query}`);
    if (response.status !== 200) throw new Error(`eval run: ${response.status} ${await response.text()}`);
    return (await response.json()) as EvalRunView;
  }
  async function until(
    workspace: string,
    name: string,
    { id, holds, timeoutMs = 60_000 }: { id: string; holds: (run: EvalRunView) => boolean; timeoutMs?: number },
  ): Promise<EvalRunView> {
    for (const end = Date.now() + timeoutMs; ; ) {
      const run = await read(workspace, name, id);
      if (holds(run)) return run;
      if (Date.now() > end) throw new Error(`the eval run stayed: ${JSON.stringify(run, null, 1).slice(0, 6_000)}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  const ended = (workspace: string, name: string, id: string) =>
    until(workspace, name, { id, holds: (run) => run.finishedAt !== null });
  return {
    at,
    start,
    read,
    until,
    ended,
    /** Starts a run and waits for its end. */
    whole: async (workspace: string, name: string, body: object = {}) =>
      ended(workspace, name, (await start(workspace, name, body)).evalRunId),
    runs: async (workspace: string, name: string) =>
      ((await (await app.get(`${at(workspace, name)}/runs`)).json()) as { runs: EvalRunSummary[] }).runs,
  };
}
