import type { Sql } from '../../db/contract.js';
import type { Deps } from '../../deps.js';
import type { GateSpec } from '../../engine/index.js';
import { isRecord, type Json } from '../../shared/json.js';
import type { Caller } from '../../shared/roles.js';
import { loadPlan } from '../../workspaces/index.js';
import { hideTokens } from '../hide-tokens.js';
import { decidersAt, mayDecide } from '../may-decide.js';
import { parkTitle, starterOf } from '../run-rows.js';
import type { StepRow } from '../step-views.js';
import { readVotes, type Vote } from '../votes.js';
import { type GateView, gateView } from '../waiting.js';
import { isApproveToken, type LinkOf } from './approve-link.js';
import { formNonce } from './form-nonce.js';
import { gateDigest } from './gate-digest.js';
import { linkCaller } from './link-caller.js';
import { badLink, type OpenLinkInput } from './require-link.js';

/** How a gate was decided: by whom, and when. */
export interface LinkDecision {
  /** approve, reject or timeout; void when the run ended, or went on, without a decision. */
  readonly decision: string;
  readonly by: string | null;
  readonly at: string;
  readonly note: string | null;
}

/** What a link shows: all that is to be decided, and how it stands. */
export interface OpenedLink extends GateView {
  readonly workspace: string;
  readonly runId: string;
  readonly flow: string;
  readonly step: number;
  readonly id: string;
  readonly title: string;
  readonly since: string;
  readonly due: string | null;
  readonly to: string;
  /** Null while it waits. */
  readonly decision: LinkDecision | null;
  /** The recipient's own vote, when it was counted and others are needed besides. */
  readonly yours: { readonly decision: string; readonly at: string } | null;
  readonly digest: string;
  readonly nonce: string;
}

interface Row {
  readonly id: string;
  readonly step: string;
  readonly kind: string;
  readonly spec: Json;
  readonly need: number;
  readonly votes: Json;
  readonly note: string | null;
  readonly openedAt: Date;
  readonly dueAt: Date | null;
  readonly decision: string | null;
  readonly decidedBy: Json;
  readonly decidedAt: Date | null;
  readonly runId: string;
  readonly rootId: string;
  readonly parentId: string | null;
  readonly flow: string;
  readonly planId: string;
  readonly workspaceId: string;
  readonly startedBy: Json;
}

/** Reads what a link is about, and changes nothing. Whatever does not fit its token is refused alike. */
export async function openLink(deps: Deps, input: OpenLinkInput): Promise<OpenedLink> {
  if (!isApproveToken(deps, input, input.token)) throw badLink();
  return deps.db.transaction(async (sql) => {
    await sql.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const row = await findGate(sql, input);
    if (!row) throw badLink();
    const caller = await linkCaller(sql, input, input.address);
    return viewOf(deps, { sql, row, caller }, input);
  });
}

async function findGate(sql: Sql, { tenant, workspace, runId, park }: LinkOf): Promise<Row | undefined> {
  const [row] = await sql.query<Row>({
    name: 'find-linked-gate',
    text: `SELECT p.id, p.step, p.kind, p.spec, p.need, p.votes, p.note, p.opened_at AS "openedAt", p.due_at AS "dueAt",
        p.decision, p.decided_by AS "decidedBy", p.decided_at AS "decidedAt", r.id AS "runId", r.root_id AS "rootId",
        r.parent_id AS "parentId", r.flow, r.plan_id AS "planId", r.workspace_id AS "workspaceId", r.started_by AS "startedBy"
      FROM park p JOIN run r ON r.id = p.run_id JOIN workspace w ON w.id = r.workspace_id
      WHERE p.id = $1 AND r.id = $2 AND r.tenant_id = $3 AND w.name = $4 AND p.kind = 'approval' AND r.mode <> 'eval'`,
    values: [park, runId, tenant, workspace],
  });
  return row;
}

interface At {
  readonly sql: Sql;
  readonly row: Row;
  readonly caller: Caller;
}

async function viewOf(deps: Deps, { sql, row, caller }: At, link: LinkOf): Promise<OpenedLink> {
  const nowMs = deps.clock.now();
  const gate = row.spec as unknown as GateSpec;
  const plan = await loadPlan({ db: sql }, row.workspaceId, row.planId);
  const steps = await sql.query<StepRow>(
    'SELECT id, item, result, data FROM step WHERE run_id = $1 AND item = 0 AND id = ANY($2) ORDER BY round',
    [row.runId, gate.edit],
  );
  const view = gateView(plan, { run: row, steps }, row, { caller, nowMs });
  const moment = { gate, openedAtMs: row.openedAt.getTime(), nowMs, starter: starterOf(row) };
  const digest = await gateDigest(sql, row.runId, row);
  const { n, title } = parkTitle(row);
  const shown = {
    workspace: link.workspace,
    runId: row.runId,
    flow: row.flow,
    step: n,
    id: row.step,
    title,
    since: row.openedAt.toISOString(),
    due: row.dueAt?.toISOString() ?? null,
    ...view,
    approvers: decidersAt(moment),
    mayDecide: row.decidedAt === null && mayDecide(moment, caller),
    decision: decisionOf(row),
    yours: voteOf(readVotes(row.votes), caller),
  };
  // A page is forwarded and printed: a run's release address is none of its business, whoever reads it.
  const show = hideTokens(deps, { ...caller, role: 'viewer' }, [row.runId, row.parentId, row.rootId]);
  return { ...show(shown), to: link.to, digest, nonce: formNonce(deps, { ...link, digest }) };
}

function decisionOf({ decision, decidedBy, decidedAt, note }: Row): LinkDecision | null {
  if (decidedAt === null) return null;
  const by = isRecord(decidedBy) ? String(decidedBy.label) : null;
  return { decision: decision ?? 'void', by, at: decidedAt.toISOString(), note };
}

function voteOf(votes: readonly Vote[], { person, actor }: Caller): OpenedLink['yours'] {
  const own = votes.find(({ who }) => who === (person?.id ?? actor.id));
  return own ? { decision: own.decision, at: own.at } : null;
}
