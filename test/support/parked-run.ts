import { expect } from 'vitest';
import type { RunView } from '../../src/contract/runs.js';
import type { EngineApp } from './create-engine-app.js';
import { flow } from './flows.js';
import { bodyOf, type Tree } from './workspace-app.js';

export const AGENT: Tree = {
  'agents/worker.md': '---\ndescription: Works.\ntools: [ask_human, Bash, Glob]\napprove: [Bash]\n---\n\nYou work.\n',
};

export type Wait = RunView['waiting'][number];
type Decision = readonly [number, Record<string, unknown>];
type Decide = (body: object, as?: string, headers?: Readonly<Record<string, string>>) => Promise<Decision>;

export interface Parked {
  readonly workspace: string;
  readonly id: string;
  readonly at: string;
  readonly waiting: Wait;
  readonly decide: Decide;
  /** The next gate, once another one than this is open. */
  readonly next: (after: Wait) => Promise<Wait>;
}

/** A run of this flow that waits at its first gate. */
export async function parkedRun(app: EngineApp, body: string, more: { frontmatter?: string; start?: object } = {}) {
  const workspace = await app.workspace({ ...AGENT, 'flows/f.md': flow(body, more.frontmatter ?? '') });
  const id = await app.start(workspace, 'f', more.start);
  const at = `/api/workspaces/${workspace}/runs/${id}`;
  const gateOf = ({ waiting }: RunView) => waiting.find(({ kind }) => kind === 'approval');
  const next = async (after?: Wait) => {
    const isNext = (run: RunView) => gateOf(run) !== undefined && gateOf(run)?.gate?.digest !== after?.gate?.digest;
    return gateOf(await app.until(workspace, id, isNext)) as Wait;
  };
  const decide: Decide = async (decision, as, headers = {}) => {
    const response = await app.post(`${at}/approve`, decision, { headers, ...(as === undefined ? {} : { as }) });
    return [response.status, await bodyOf(response)];
  };
  return { workspace, id, at, waiting: await next(), decide, next } satisfies Parked;
}

/** The refusal of a decision that names, or may mean, another gate than the one that is open. */
export const changed = (gate: unknown) => ({
  code: 'changed',
  error: expect.stringContaining('changed since, review again'),
  gate,
  waiting: [expect.objectContaining({ step: expect.any(Number), gate })],
});
