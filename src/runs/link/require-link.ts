import type { Deps } from '../../deps.js';
import { Refusal } from '../../shared/refusal.js';
import { isApproveToken, type LinkOf } from './approve-link.js';

export interface OpenLinkInput extends LinkOf {
  readonly token: string;
  readonly address: string | null;
}

/** One and the same, whatever is wrong with the address. */
export const badLink = (): Refusal => new Refusal('unauthenticated', 'the link is not valid');

/** Throws unless the link's token is that of a gate of this run, workspace and account. */
export async function requireLink(deps: Deps, input: OpenLinkInput): Promise<void> {
  if (!isApproveToken(deps, input, input.token)) throw badLink();
  const { tenant, workspace, runId, park } = input;
  const known = await deps.db.query({
    name: 'require-link',
    text: `SELECT 1 FROM park p JOIN run r ON r.id = p.run_id JOIN workspace w ON w.id = r.workspace_id
      WHERE p.id = $1 AND r.id = $2 AND r.tenant_id = $3 AND w.name = $4 AND p.kind = 'approval' AND r.mode <> 'eval'`,
    values: [park, runId, tenant, workspace],
  });
  if (known.length === 0) throw badLink();
}
