import type { EvalPlan } from '../format/index.js';
import type { Sql } from '../platform/db/contract.js';
import type { Actor } from '../shared/roles.js';

/** A revision that goes live. */
export interface AppliedRevision {
  readonly workspaceId: string;
  readonly tenantId: string;
  readonly revision: string;
  readonly by: Actor;
}

/**
 * Starts those of a new revision's evals that a deploy triggers, in the transaction that makes it live; returns the ids
 * of the eval runs. The evals themselves deploy, so deploys know them only by this type.
 */
export type StartPushEvals = (
  sql: Sql,
  revision: AppliedRevision,
  evals: readonly EvalPlan[],
) => Promise<readonly string[]>;
