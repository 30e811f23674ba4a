import { hmacSha256, isSameMac } from '../../shared/hmac.js';
import type { SignatureCheck, Signed } from './contract.js';
import { fromBase64, isFresh } from './read-digest.js';

/** The header prefixes of the standard, and of Svix, where it comes from. */
const PREFIXES = ['webhook', 'svix'];
const PARTS = ['id', 'timestamp', 'signature'];

/** The values of the three headers; null when one of them is missing. */
function headersOf({ header }: Pick<Signed, 'header'>): readonly string[] | null {
  const all = PREFIXES.map((prefix) => PARTS.flatMap((part) => header(`${prefix}-${part}`) ?? []));
  return all.find((values) => values.length === PARTS.length) ?? null;
}

export function isStandard(signed: Pick<Signed, 'header'>): boolean {
  return headersOf(signed) !== null;
}

/** Standard Webhooks 1.0: `v1,<base64>`, any of a list separated by spaces, over `<id>.<seconds>.<body>`. */
export const standardWebhooks: SignatureCheck = ({ header, body, secret, nowMs }) => {
  const [id = '', time = '', list = ''] = headersOf({ header }) ?? [];
  if (!isFresh(time, nowMs)) return false;
  const given = list.split(' ').flatMap((one) => (one.startsWith('v1,') ? [fromBase64(one.slice(3))] : []));
  return keysOf(secret)
    .map((key) => hmacSha256(key, `${id}.${time}.`, body))
    .some((wanted) => given.some((one) => isSameMac(wanted, one)));
};

/** `whsec_` and base64, as the libraries make them; a secret of another form is its own bytes. */
function keysOf(secret: string): readonly (string | Uint8Array)[] {
  const coded = secret.replace(/^whsec_/, '');
  const bytes = /^[A-Za-z0-9+/]+={0,2}$/.test(coded) ? Buffer.from(coded, 'base64') : Buffer.alloc(0);
  // A very short decoded key would be guessable, so such a secret is not used as base64.
  return bytes.length < 8 ? [secret] : [bytes, secret];
}
