import { chat } from './chat.js';
import { codeHost } from './code-host.js';
import { SIGNATURE_KINDS, type SignatureCheck, type SignatureKind, type Signed } from './contract.js';
import { hmac } from './hmac.js';
import { payment } from './payment.js';
import { isStandard, standardWebhooks } from './standard-webhooks.js';

export type { SignatureKind } from './contract.js';

const CHECKS = { code_host: codeHost, payment, chat, hmac } as const satisfies Record<SignatureKind, SignatureCheck>;

/** Whether the delivery is signed in the flow's way, or by Standard Webhooks where it has the three headers of that. */
export function isSigned(kind: SignatureKind, signed: Signed): boolean {
  // With an empty secret anybody could sign.
  if (signed.secret === '') return false;
  return CHECKS[kind](signed) || (isStandard(signed) && standardWebhooks(signed));
}

/** What a plan says as the kind that it is; null for none. */
export function asSignatureKind(value: unknown): SignatureKind | null {
  return SIGNATURE_KINDS.find((kind) => kind === value) ?? null;
}
