import type { Deps } from '../../deps.js';
import { checkToken, deriveToken } from '../../shared/tokens.js';

/** The gate that a link decides, and its recipient: an email address, or `webhook`. */
export interface GateOf {
  readonly tenant: string;
  readonly runId: string;
  readonly park: string;
  readonly to: string;
}

/** Includes the workspace's name, which makes the address readable. */
export interface LinkOf extends GateOf {
  readonly workspace: string;
}

/** The recipient of a link in a POST to the account's webhook, which stands for no single person. */
export const WEBHOOK = 'webhook';

/**
 * The address of the page on which the recipient decides the gate, and the same with the rejection preselected. Null
 * without a public URL, since a mail cannot link to this machine.
 */
export function approveLinks(
  deps: Pick<Deps, 'config' | 'keys'>,
  link: LinkOf,
): { readonly approveUrl: string; readonly rejectUrl: string } | null {
  const { publicUrl } = deps.config;
  if (publicUrl === null) return null;
  const token = deriveToken(deps.keys.signing, 'approve', fieldsOf(link));
  const path = [link.tenant, link.workspace, link.runId].map(encodeURIComponent).join('/');
  const query = new URLSearchParams({ token, park: link.park, to: link.to });
  const approveUrl = `${publicUrl}/api/approve/${path}?${query}`;
  return { approveUrl, rejectUrl: `${approveUrl}&decision=reject` };
}

export function isApproveToken({ keys }: Pick<Deps, 'keys'>, link: GateOf, token: string): boolean {
  return checkToken(keys.signing, 'approve', fieldsOf(link), token);
}

function fieldsOf({ runId, park, to }: GateOf): string[] {
  return [runId, park, to];
}
