import type { LinkVote } from '../../contract/approve.js';
import type { Decided } from '../../contract/runs.js';
import type { Deps } from '../../deps.js';
import type { Json } from '../../shared/json.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { decideRunIn } from '../decide-run.js';
import { auditRefusal } from '../refused-decision.js';
import { checkFormNonce } from './approve-link.js';
import { type LinkGate, linkCaller } from './link-caller.js';
import { linkGate, type OpenLinkInput, requireLink } from './open-link.js';

/** A vote as it was sent. A page may post any JSON as `form`; the gate refuses what does not fit its schema. */
export type SentVote = Omit<LinkVote, 'form'> & { readonly form?: Json | undefined };

/** Decides the gate of a link as its recipient, by the same path as every decision. */
export async function decideLink(deps: Deps, input: OpenLinkInput, vote: SentVote): Promise<Decided> {
  const gate = linkGate(await requireLink(deps, input));
  const caller = await linkDecider(deps, input, gate);
  const { runId, park } = input;
  const { nonce, ...voteFields } = vote;
  if (nonce !== undefined) {
    if (vote.digest === undefined) throw new Refusal('refused', 'digest: the form of the page carries it beside nonce');
    checkFormNonce(deps, { ...input, digest: vote.digest }, nonce);
  }
  return decideRunIn(deps, caller, { workspaceId: gate.workspaceId, runId, park, ...voteFields });
}

/** Refuses a link whose recipient may not decide, before the decision itself is validated. */
export async function requireLinkDecider(deps: Deps, input: OpenLinkInput): Promise<void> {
  await linkDecider(deps, input, linkGate(await requireLink(deps, input)));
}

async function linkDecider(deps: Deps, input: OpenLinkInput, gate: LinkGate): Promise<Caller> {
  return linkCaller(deps.db, input, gate).catch(async (error: unknown) => {
    const { tenant, address, to, runId } = input;
    const actor = { kind: 'link', id: `link:${to.toLowerCase()}`, label: to } as const;
    await auditRefusal(deps, { tenant, actor, address }, { runId }, error);
    throw error;
  });
}
