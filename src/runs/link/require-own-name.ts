import type { Deps } from '../../deps.js';
import { notFound } from '../../shared/refusal.js';

/** An address of a run, whose token has been checked. */
export interface RunAddress {
  readonly tenant: string;
  readonly workspace: string;
  readonly runId: string;
}

/**
 * Refuses with `not_found` an address that names another workspace. The run is found by its id, so an old name of its
 * workspace is accepted: a name that no workspace has, or that another workspace got after the run was created.
 */
export async function requireOwnName(
  { db }: Pick<Deps, 'db'>,
  { tenant, workspace, runId }: RunAddress,
): Promise<void> {
  const others = await db.query({
    name: 'address-of-other-workspace',
    text: `SELECT 1 FROM workspace o JOIN run r ON r.id = $3 AND r.tenant_id = o.tenant_id
      WHERE o.tenant_id = $1 AND o.name = $2 AND o.id <> r.workspace_id AND o.named_at < r.created_at`,
    values: [tenant, workspace, runId],
  });
  if (others.length > 0) throw notFound('run');
}
