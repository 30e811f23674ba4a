import type { Deps } from '../../deps.js';
import type { Json } from '../../shared/json.js';
import { Refusal } from '../../shared/refusal.js';
import { type Decided, decideRunIn } from '../decide-run.js';
import { checkFormNonce } from './form-nonce.js';
import { linkCaller } from './link-caller.js';
import { linkGate, type OpenLinkInput, requireLink } from './require-link.js';

export interface LinkVote {
  readonly decision: 'approve' | 'reject';
  readonly note?: string | undefined;
  readonly reason?: string | undefined;
  readonly form?: Json | undefined;
  readonly edits?: Readonly<Record<string, Json>> | undefined;
  readonly round?: number | undefined;
  /** The page's form carries both; a POST with the token alone has neither. */
  readonly digest?: string | undefined;
  readonly nonce?: string | undefined;
}

/** Decides the one gate that the link was made for, as its recipient, through the door that every decision takes. */
export async function decideLink(deps: Deps, input: OpenLinkInput, vote: LinkVote): Promise<Decided> {
  const gate = linkGate(await requireLink(deps, input));
  const { runId, park } = input;
  const { nonce, ...said } = vote;
  if (nonce !== undefined) {
    if (vote.digest === undefined) throw new Refusal('refused', 'digest: the form of the page carries it beside nonce');
    checkFormNonce(deps, { ...input, digest: vote.digest }, nonce);
  }
  const caller = await linkCaller(deps.db, input, gate);
  return decideRunIn(deps, caller, { workspaceId: gate.workspaceId, runId, park, ...said });
}
