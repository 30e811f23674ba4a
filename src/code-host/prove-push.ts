import { randomBytes } from 'node:crypto';
import { fromHex, isMac, isStandard, mac, standardWebhooks } from '../triggers/index.js';

export interface Unproven {
  /** By lower-case name. */
  readonly header: (name: string) => string | undefined;
  readonly body: Uint8Array;
  /** Epoch ms. */
  readonly nowMs: number;
}

type Proof = (sent: Unproven, secret: string) => boolean;

/** The body's HMAC-SHA256 in hex under this header, with or without a prefix. */
function hexHeader(name: string, prefix = ''): Proof {
  return ({ header, body }, secret) => {
    const given = header(name);
    return given?.startsWith(prefix) === true && isMac(mac(secret, body), fromHex(given.slice(prefix.length)));
  };
}

/** Each way in which a code host shows that it has the secret. One is enough. */
const PROOFS: readonly Proof[] = [
  hexHeader('x-hub-signature-256', 'sha256='),
  hexHeader('x-gitea-signature'),
  hexHeader('x-forgejo-signature'),
  hexHeader('x-gogs-signature'),
  // GitLab sends the secret itself. Both are hashed first, so that not even its length can be measured.
  ({ header }, secret) => {
    const key = randomBytes(32);
    return isMac(mac(key, secret), mac(key, header('x-gitlab-token') ?? ''));
  },
  (sent, secret) => isStandard(sent) && standardWebhooks({ ...sent, secret }),
];

/** Whether whoever sent it has the secret. Without one (null) nobody has, after the same work. */
export function isProven(sent: Unproven, secret: string | null): boolean {
  const key = secret ?? randomBytes(16).toString('hex');
  const proven = PROOFS.map((proof) => proof(sent, key)).includes(true);
  // With an empty secret anybody could sign.
  return proven && secret !== null && secret !== '';
}
