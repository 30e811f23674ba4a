import type { Deps } from '../../deps.js';
import type { GateSpec } from '../../engine/index.js';
import type { Sql } from '../../platform/db/contract.js';
import type { Json } from '../../shared/json.js';
import { Refusal } from '../../shared/refusal.js';
import { GATE_COLUMNS, GATES, type GateRow } from '../gate-rows.js';
import { type GateOf, isApproveToken } from './approve-link.js';
import { type LinkGate, linkCaller } from './link-caller.js';

/** A link's address, without the workspace's name in its path (`requireOwnName` checks that). */
export interface OpenLinkInput extends GateOf {
  readonly token: string;
  readonly address: string | null;
}

/** The gate of a link, with its decision. */
export interface LinkedGate extends GateRow {
  readonly note: string | null;
  readonly decision: string | null;
  readonly decidedBy: Json;
  readonly decidedAt: Date | null;
}

/** The gate of a link whose token matches this run and account. Every mismatch gets the same refusal. */
export async function requireLink(
  deps: Pick<Deps, 'db' | 'keys'>,
  input: OpenLinkInput,
  sql: Sql = deps.db,
): Promise<LinkedGate> {
  const refused = new Refusal('unauthenticated', 'the link is not valid');
  if (!isApproveToken(deps, input, input.token)) throw refused;
  const gate = await findLinkedGate(sql, input);
  if (!gate) throw refused;
  return gate;
}

async function findLinkedGate(sql: Sql, { park, runId, tenant }: GateOf): Promise<LinkedGate | undefined> {
  const [gate] = await sql.query<LinkedGate>({
    name: 'find-linked-gate',
    text: `SELECT ${GATE_COLUMNS}, p.note, p.decision, p.decided_by AS "decidedBy", p.decided_at AS "decidedAt"
      FROM ${GATES} WHERE p.id = $1 AND r.id = $2 AND r.tenant_id = $3`,
    values: [park, runId, tenant],
  });
  return gate;
}

export function linkGate({ workspaceId, spec }: LinkedGate): LinkGate {
  return { workspaceId, gate: spec as unknown as GateSpec };
}

/** Whether a link to this recipient would open the gate now. */
export async function opensGate(sql: Sql, link: GateOf): Promise<boolean> {
  const gate = await findLinkedGate(sql, link);
  if (!gate) return false;
  try {
    await linkCaller(sql, { ...link, address: null }, linkGate(gate));
    return true;
  } catch (error) {
    if (error instanceof Refusal && error.kind === 'forbidden') return false;
    throw error;
  }
}
