import { randomBytes } from 'node:crypto';
import { hmacSha256, isSameMac } from '../../shared/hmac.js';
import { fromHex, isStandard, standardWebhooks } from '../../triggers/index.js';

export interface Unproven {
  /** By lower-case name. */
  readonly header: (name: string) => string | undefined;
  readonly body: Uint8Array;
  /** Epoch ms. */
  readonly nowMs: number;
}

type Proof = (sent: Unproven, secret: string) => boolean;

/** Checks the body's HMAC-SHA256 in hex in this header, with or without a prefix. */
function hexHeader(name: string, prefix = ''): Proof {
  return ({ header, body }, secret) => {
    const given = header(name);
    return (
      given?.startsWith(prefix) === true && isSameMac(hmacSha256(secret, body), fromHex(given.slice(prefix.length)))
    );
  };
}

const SIGNATURES = ['x-hub-signature-256', 'x-gitea-signature', 'x-forgejo-signature', 'x-gogs-signature'] as const;

/** The ways in which code hosts prove that they have the secret. One is enough. */
const PROOFS: readonly Proof[] = [
  ...SIGNATURES.map((name) => hexHeader(name, name === 'x-hub-signature-256' ? 'sha256=' : '')),
  // GitLab sends the secret itself. Both are hashed first, so that not even its length can be measured.
  ({ header }, secret) => {
    const key = randomBytes(32);
    return isSameMac(hmacSha256(key, secret), hmacSha256(key, header('x-gitlab-token') ?? ''));
  },
  (sent, secret) => isStandard(sent) && standardWebhooks({ ...sent, secret }),
];

/** Whether a header has a signature, which can only be checked with the body. */
export function hasSignature(header: (name: string) => string | undefined): boolean {
  return SIGNATURES.some((name) => header(name) !== undefined) || isStandard({ header });
}

/** Whether the sender has the secret. False for null, after the same work, so that timing reveals nothing. */
export function isProven(sent: Unproven, secret: string | null): boolean {
  const key = secret ?? randomBytes(16).toString('hex');
  const proven = PROOFS.map((proof) => proof(sent, key)).includes(true);
  // An empty secret proves nothing.
  return proven && secret !== null && secret !== '';
}
