import type { EvalRunSummary } from '../../contract/evals.js';
import type { Deps } from '../../deps.js';
import { awaitPushEvals } from '../../evals/index.js';

/** How long a push waits for the results of its evals. */
const WITHIN_MS = 20_000;

interface EvalReport {
  readonly workspaceId: string;
  /** The name of the workspace in which the evals run. */
  readonly name: string;
  readonly revision: string | null;
  readonly say: (...lines: readonly string[]) => void;
}

/** Prints the results of a push's evals, or where to look while they still run. */
export async function reportEvals(deps: Deps, { workspaceId, name, revision, say }: EvalReport): Promise<void> {
  if (revision === null) return;
  const runs = await awaitPushEvals(deps, { workspaceId, revision, withinMs: WITHIN_MS }).catch((err: unknown) => {
    deps.log.warn({ err, workspaceId }, 'failed to read the results of push evals');
    return [];
  });
  say(...runs.map((run) => lineOf(name, run)));
}

function lineOf(name: string, run: EvalRunSummary): string {
  const where = `GET /api/workspaces/${name}/evals/${run.eval}/runs/${run.id}`;
  if (run.finishedAt === null) return `eval ${run.eval}: still running; see ${where}`;
  const { passed, failed } = run;
  if (run.ok) return `eval ${run.eval}: passed, ${passed} of ${passed + failed} cases`;
  const why = run.error === null ? `${failed} of ${passed + failed} cases` : run.error;
  return `eval ${run.eval}: failed, ${why}; see ${where}`;
}
