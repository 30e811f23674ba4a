import type { RunView } from '../../src/contract/runs.js';
import type { EngineApp } from './create-engine-app.js';
import { sendWithRetry } from './send-with-retry.js';

/** What is decided about the gate of a step in its n-th round, counted from 1; null leaves it. */
export type Decide = (round: number, step: string) => 'approve' | 'reject' | null;

/** Decides each gate of the run as often as it opens, until the run has ended or is as far as asked. */
export async function decideGates(
  app: EngineApp,
  { workspace, id, isFar = () => false }: { workspace: string; id: string; isFar?: (run: RunView) => boolean },
  decide: Decide,
): Promise<RunView> {
  const at = `/api/workspaces/${workspace}/runs/${id}/approve`;
  const decided = new Set<string>();
  const meant = (run: RunView) =>
    run.waiting
      .filter((wait) => wait.kind === 'approval')
      .map((wait) => ({ ...wait, round: run.steps.find((step) => step.id === wait.id)?.round ?? 1 }))
      .filter(({ id: step, round }) => decide(round, step) !== null && !decided.has(`${step} ${round}`));
  for (;;) {
    const isOver = (run: RunView) => run.finishedAt !== null || isFar(run);
    const run = await app.until(workspace, id, (view) => isOver(view) || meant(view).length > 0);
    if (isOver(run)) return run;
    for (const { id: step, step: n, round, gate } of meant(run)) {
      const response = await sendWithRetry(() => app.post(at, { decision: decide(round, step), step: n, ...gate }));
      // Where one branch is enough, the approval of another may have closed this gate meanwhile.
      const isGone = async () => !meant(await app.run(workspace, id)).some((gate) => gate.id === step);
      if (response.status !== 200 && !(response.status === 409 && (await isGone())))
        throw new Error(`${step} ${round}: ${await response.text()}`);
      decided.add(`${step} ${round}`);
    }
  }
}
