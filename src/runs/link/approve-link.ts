import type { Deps } from '../../deps.js';
import { notFound, Refusal } from '../../shared/refusal.js';
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

/** The recipient of a link in a POST to the account's webhook, which is not a single person. */
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

/** How long a rendered page stays valid. */
const GOOD_FOR_MS = 24 * 3_600_000;

type Shown = GateOf & { readonly digest: string };

/** The form's nonce: proves that this service rendered the page, for this link and content, and when. */
export function formNonce({ keys, clock }: Pick<Deps, 'keys' | 'clock'>, shown: Shown): string {
  const at = String(clock.now());
  return `${at}.${deriveToken(keys.signing, 'approve-form', signedFieldsOf(shown, at))}`;
}

export function checkFormNonce({ keys, clock }: Pick<Deps, 'keys' | 'clock'>, shown: Shown, nonce: string): void {
  const [at = '', token = ''] = nonce.split('.');
  const ageMs = clock.now() - Number(at);
  const isOurs = checkToken(keys.signing, 'approve-form', signedFieldsOf(shown, at), token);
  if (isOurs && ageMs >= 0 && ageMs <= GOOD_FOR_MS) return;
  throw new Refusal('conflict', 'this page is out of date: review again', { code: 'changed' });
}

function signedFieldsOf({ runId, park, to, digest }: Shown, at: string): string[] {
  return [runId, park, to, digest, at];
}

/** An address of a run, whose token has been checked. */
interface RunAddress {
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
