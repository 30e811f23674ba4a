import type { Deps } from '../../deps.js';
import { awaitPushEvals, type EvalRunSummary } from '../../evals/index.js';

/** As long as a push waits to tell what its evals said. */
const WITHIN_MS = 20_000;

interface Said {
  readonly workspaceId: string;
  /** Of the workspace in which they run. */
  readonly name: string;
  readonly revision: string | null;
  readonly say: (...lines: readonly string[]) => void;
}

/** Tells what the evals of a push said, or where to look while they go on. */
export async function reportEvals(deps: Deps, { workspaceId, name, revision, say }: Said): Promise<void> {
  if (revision === null) return;
  const runs = await awaitPushEvals(deps, { workspaceId, revision, withinMs: WITHIN_MS }).catch((err: unknown) => {
    deps.log.warn({ err, workspaceId }, 'what the evals of a push said could not be read');
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
