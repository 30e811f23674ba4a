import { readDemoFiles } from './demo-files.mjs';
import { followRun } from './follow-run.mjs';
import { seconds } from './format.mjs';

const WORKSPACE = 'fern-and-spoke';
export const FLOW = 'weekly-order';
const TASK = '3';
/** How long the run may take: a script's turns are short, a small model on a slow machine takes its time. */
const RUN_MS = { scripted: 60_000, model: 1_200_000 };

/**
 * @typedef {{ api: import('./api.mjs').Api, screen: import('./screen.mjs').Screen, model: string | null }} Place
 * `model` is the service's own; null on the scripted provider.
 */

/** Makes the workspace and deploys the template into it. @param {Place} place */
export async function deployWorkspace({ api, screen, model }) {
  await api.post('/api/workspaces', { name: WORKSPACE });
  const files = await readDemoFiles({ withModel: model !== null });
  const answer = await api.post(`/api/workspaces/${WORKSPACE}/deploy`, { files, message: 'The demo workspace' });
  const { revision, issues } = /** @type {import('../../src/contract/deploys.js').DeployResultBody} */ (answer);
  const found = issues.length === 0 ? 'no error, no warning' : `no error, warnings: ${issues.length}`;
  screen.done(`${files.length} files of templates/demo checked and live in ${WORKSPACE}: ${found}`);
  screen.block(
    issues.map(({ path, line, message }) => `${path}:${line}: ${message}`),
    'yellow',
  );
  screen.done(`revision ${revision?.slice(0, 10)} in its history`);
}

/** Runs the flow to its end, shown live. Throws when it does not complete. @param {Place} place @param {AbortSignal} signal */
export async function runFlow({ api, screen, model }, signal) {
  const answer = await api.post(`/api/workspaces/${WORKSPACE}/flows/${FLOW}/run`, { task: TASK, tags: ['demo'] });
  const { runId } = /** @type {{ runId: string }} */ (answer);
  const path = `/api/workspaces/${WORKSPACE}/runs/${runId}`;
  const limitMs = model === null ? RUN_MS.scripted : RUN_MS.model;
  const limit = AbortSignal.timeout(limitMs);
  try {
    const run = await followRun({ api, screen, path }, AbortSignal.any([signal, limit]));
    if (run.status !== 'completed')
      throw new Error(`it is ${run.status}: ${run.error ?? 'its stream ended before it'}`);
    return run;
  } catch (error) {
    if (limit.aborted) throw new Error(`it had not ended after ${seconds(limitMs)}`, { cause: error });
    throw error;
  }
}

/** @param {import('./api.mjs').Api} api @param {readonly string[]} paths */
export async function readMemory(api, paths) {
  return Promise.all(
    paths.map(async (path) => {
      const source = await api.get(`/api/workspaces/${WORKSPACE}/source?path=${encodeURIComponent(path)}`);
      return { path, content: /** @type {{ content?: string }} */ (source).content ?? '' };
    }),
  );
}
