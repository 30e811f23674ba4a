import { loadPlan } from '../../content/index.js';
import type { OpenedLink } from '../../contract/approve.js';
import type { Deps } from '../../deps.js';
import type { GateSpec } from '../../engine/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { isRecord } from '../../shared/json.js';
import type { Caller } from '../../shared/roles.js';
import { gateHead } from '../gate-rows.js';
import { hideTokens } from '../hide-tokens.js';
import { decidersAt, mayDecide } from '../may-decide.js';
import { starterOf } from '../run-rows.js';
import type { ShownStep } from '../step-views.js';
import { readVotes, type Vote } from '../votes.js';
import { gateView } from '../waiting.js';
import type { GateOf } from './approve-link.js';
import { formNonce } from './form-nonce.js';
import { linkCaller } from './link-caller.js';
import { type LinkedGate, linkGate, type OpenLinkInput, requireLink } from './require-link.js';
import { wholeCalls } from './whole-calls.js';

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
