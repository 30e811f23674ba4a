import { loadPlan } from '../../content/index.js';
import type { OpenedLink } from '../../contract/approve.js';
import type { Gate } from '../../contract/runs.js';
import type { Deps } from '../../deps.js';
import { callDigest, type GateSpec } from '../../engine/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { isRecord, type Json, type JsonObject } from '../../shared/json.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { GATE_COLUMNS, GATES, type GateRow, gateHead } from '../gate-rows.js';
import { hideTokens } from '../hide-tokens.js';
import { decidersAt, mayDecide, readVotes, type Vote } from '../may-decide.js';
import { starterOf } from '../run-rows.js';
import type { ShownStep } from '../step-views.js';
import { gateView } from '../waiting.js';
import { formNonce, type GateOf, isApproveToken } from './approve-link.js';
import { type LinkGate, linkCaller } from './link-caller.js';

/** The longest call that a page shows, in characters. No model writes more in one answer. */
const MOST_CHARACTERS = 1_000_000;

/** How many calls of the step are searched, newest first. */
const MOST_CALLS = 500;

/** Reads the gate of a link without changing anything. Every mismatch with the token gets the same refusal. */
export async function openLink(deps: Deps, input: OpenLinkInput): Promise<OpenedLink> {
  return deps.db.transaction(async (sql) => {
    await sql.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const row = await requireLink(deps, input, sql);
    const caller = await linkCaller(sql, input, linkGate(row));
    return viewOf(deps, { sql, row, caller }, input);
  });
}

interface At {
  readonly sql: Sql;
  readonly row: LinkedGate;
  readonly caller: Caller;
}

async function viewOf(deps: Deps, { sql, row, caller }: At, link: GateOf): Promise<OpenedLink> {
  const nowMs = deps.clock.now();
  const gate = row.spec as unknown as GateSpec;
  const plan = await loadPlan({ db: sql }, row.workspaceId, row.planId);
  const steps = await sql.query<ShownStep>(
    'SELECT id, item, result, data FROM step WHERE run_id = $1 AND item = 0 AND id = ANY($2) ORDER BY round',
    [row.runId, gate.edit],
  );
  const moment = { gate, openedAtMs: row.openedAt.getTime(), nowMs, starter: starterOf(row) };
  const view = gateView(plan, { run: row, steps }, row, { caller, nowMs });
  const { digest } = view.gate;
  const shown = {
    ...gateHead(row),
    ...view,
    ...(view.calls === undefined ? {} : { calls: await wholeCalls(sql, row, view.calls) }),
    approvers: decidersAt(moment),
    mayDecide: row.decidedAt === null && mayDecide(moment, caller),
    decision: decisionOf(row),
    yours: voteOf(readVotes(row.votes), caller),
  };
  // The page may be forwarded or printed, so it hides the run's release address from every reader.
  const show = hideTokens(deps, { role: 'viewer' }, [row.runId, row.parentId, row.rootId]);
  return { ...show(shown), to: link.to, digest, nonce: formNonce(deps, { ...link, digest }) };
}

function decisionOf({ decision, decidedBy, decidedAt, note }: LinkedGate): OpenedLink['decision'] {
  if (decidedAt === null) return null;
  const by = isRecord(decidedBy) ? String(decidedBy.label) : null;
  return { decision: decision ?? 'void', by, at: decidedAt.toISOString(), note };
}

function voteOf(votes: readonly Vote[], { person, actor }: Caller): OpenedLink['yours'] {
  const own = votes.find(({ who }) => who === (person?.id ?? actor.id));
  return own ? { decision: own.decision, at: own.at } : null;
}

/** A link's address, without the workspace's name in its path (`requireOwnName` checks that). */
export interface OpenLinkInput extends GateOf {
  readonly token: string;
  readonly address: string | null;
}

/** The gate of a link, with its decision. */
interface LinkedGate extends GateRow {
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

/**
 * Completes a gate's calls, of which the gate stores only the beginning: the decider by link has no other place to read
 * them. A call that is not found stays truncated.
 */
async function wholeCalls(
  sql: Sql,
  { runId, step }: Pick<GateRow, 'runId' | 'step'>,
  calls: NonNullable<Gate['calls']>,
): Promise<NonNullable<Gate['calls']>> {
  const cut = calls.filter(({ characters }) => characters !== undefined);
  if (cut.length === 0) return calls;
  const stored = await sql.query<{ name: string; args: JsonObject | null }>({
    name: 'whole-calls',
    text: `SELECT c.call->>'name' AS name, c.call->'args' AS args
      FROM message m, jsonb_array_elements(CASE WHEN jsonb_typeof(m.content->'calls') = 'array' THEN m.content->'calls' ELSE '[]' END) AS c (call)
      WHERE m.run_id = $1 AND m.step = $2 AND c.call->>'name' = ANY($3) AND octet_length((c.call->'args')::text) <= $4
      ORDER BY m.round DESC, m.attempt DESC, m.seq DESC LIMIT $5`,
    values: [runId, step, cut.map(({ name }) => name), 4 * MOST_CHARACTERS, MOST_CALLS],
  });
  const byDigest = new Map(stored.map((call) => [callDigest(call), call.args]));
  return calls.map((call) => {
    const args = call.characters === undefined ? undefined : byDigest.get(call.digest);
    if (!args || (call.characters ?? 0) > MOST_CHARACTERS) return call;
    const { characters: _, ...rest } = call;
    return { ...rest, args };
  });
}
