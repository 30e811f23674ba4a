import type { SignatureCheck, Signed } from './contract.js';
import { fromBase64, isFresh, isMac, mac } from './digest.js';

/** The standard's own names, and those of the sender that it came from, who is behind many others. */
const PREFIXES = ['webhook', 'svix'];
const PARTS = ['id', 'timestamp', 'signature'];

/** What its three headers say, where all of them are there. */
function told({ header }: Pick<Signed, 'header'>): readonly string[] | null {
  const all = PREFIXES.map((prefix) => PARTS.flatMap((part) => header(`${prefix}-${part}`) ?? []));
  return all.find((values) => values.length === PARTS.length) ?? null;
}

export function isStandard(signed: Pick<Signed, 'header'>): boolean {
  return told(signed) !== null;
}

/** Standard Webhooks 1.0: `v1,<base64>`, any of a list parted by spaces, over `<id>.<seconds>.<body>`. */
export const standardWebhooks: SignatureCheck = ({ header, body, secret, nowMs }) => {
  const [id = '', time = '', list = ''] = told({ header }) ?? [];
  if (!isFresh(time, nowMs)) return false;
  const given = list.split(' ').flatMap((one) => (one.startsWith('v1,') ? [fromBase64(one.slice(3))] : []));
  return keysOf(secret)
    .map((key) => mac(key, `${id}.${time}.`, body))
    .some((wanted) => given.some((one) => isMac(wanted, one)));
};

/** `whsec_` and base64, as the libraries make them; a secret of another form is its own bytes. */
function keysOf(secret: string): readonly (string | Uint8Array)[] {
  const coded = secret.replace(/^whsec_/, '');
  const bytes = /^[A-Za-z0-9+/]+={0,2}$/.test(coded) ? Buffer.from(coded, 'base64') : Buffer.alloc(0);
  // What decodes to next to nothing is no key: anybody could sign with it.
  return bytes.length < 8 ? [secret] : [bytes, secret];
}
