import type { Deps } from '../../deps.js';
import type { Json } from '../../shared/json.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { type Decided, decideRunIn } from '../decide-run.js';
import { auditRefusal } from '../refused-decision.js';
import { checkFormNonce } from './form-nonce.js';
import { type LinkGate, linkCaller } from './link-caller.js';
import { linkGate, type OpenLinkInput, requireLink } from './require-link.js';

export interface LinkVote {
  readonly decision: 'approve' | 'reject';
  readonly note?: string | undefined;
  readonly reason?: string | undefined;
  readonly form?: Json | undefined;
  readonly edits?: Readonly<Record<string, Json>> | undefined;
  readonly round?: number | undefined;
  /** Both come with the page's form. A POST with the token alone has neither. */
  readonly digest?: string | undefined;
  readonly nonce?: string | undefined;
}

/** Decides the gate of a link as its recipient, by the same path as every decision. */
export async function decideLink(deps: Deps, input: OpenLinkInput, vote: LinkVote): Promise<Decided> {
  const gate = linkGate(await requireLink(deps, input));
  const caller = await linkDecider(deps, input, gate);
  const { runId, park } = input;
  const { nonce, ...said } = vote;
  if (nonce !== undefined) {
    if (vote.digest === undefined) throw new Refusal('refused', 'digest: the form of the page carries it beside nonce');
    checkFormNonce(deps, { ...input, digest: vote.digest }, nonce);
  }
  return decideRunIn(deps, caller, { workspaceId: gate.workspaceId, runId, park, ...said });
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
