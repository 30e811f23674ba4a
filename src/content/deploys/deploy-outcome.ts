import type { DeployResultBody } from '../../contract/deploys.js';
import { Refusal } from '../../shared/refusal.js';
import type { LiveRun } from '../workspaces/live-tree.js';

/** The outcome of a valid tree. A tree with errors, and a caller who may not deploy, get a `Refusal`. */
export type DeployOutcome =
  | { readonly kind: 'applied'; readonly result: DeployResultBody }
  /** Nothing to change, or a dry run. */
  | { readonly kind: 'unchanged'; readonly result: DeployResultBody }
  /** Runs are live: the tree may be deployed when they have ended. */
  | { readonly kind: 'blocked'; readonly live: number; readonly runs: readonly LiveRun[] }
  /** Another revision is live than the one that the caller built on. */
  | { readonly kind: 'stale'; readonly revision: string | null };

/** Aborts a transaction that a blocked or stale deploy is a part of. */
export class NotDeployed extends Error {
  override readonly name = 'NotDeployed';

  constructor(readonly outcome: Extract<DeployOutcome, { kind: 'blocked' | 'stale' }>) {
    super(`the deploy is ${outcome.kind}`);
  }
}

/** For the answer of a route: the result, or the refusal `conflict` of a deploy that is blocked or stale. */
export function requireDeployed(outcome: DeployOutcome): DeployResultBody {
  if ('result' in outcome) return outcome.result;
  if (outcome.kind === 'stale') {
    throw new Refusal('conflict', 'another revision is live than the one named in base; read it, then deploy over it', {
      code: 'deploy/stale-base',
      revision: outcome.revision,
    });
  }
  const { live, runs } = outcome;
  const what = live === 1 ? 'a run is live' : `${live} runs are live`;
  throw new Refusal('conflict', `${what}; wait for the end, stop, or deploy with force: true`, {
    code: 'deploy/live-runs',
    live,
    runs,
  });
}
