import type { Deps } from '../../deps.js';
import { Refusal } from '../../shared/refusal.js';
import { checkToken, deriveToken } from '../../shared/tokens.js';
import type { GateOf } from './approve-link.js';

/** How long an open page stays valid. */
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
