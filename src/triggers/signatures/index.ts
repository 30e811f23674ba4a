import { chat } from './chat.js';
import { codeHost } from './code-host.js';
import { SIGNATURE_KINDS, type SignatureCheck, type SignatureKind, type Signed } from './contract.js';
import { hmac } from './hmac.js';
import { payment } from './payment.js';
import { isStandard, standardWebhooks } from './standard-webhooks.js';

export type { SignatureKind } from './contract.js';

const CHECKS = { code_host: codeHost, payment, chat, hmac } as const satisfies Record<SignatureKind, SignatureCheck>;

/**
 * Whether the delivery has a valid signature of the flow's kind, or of Standard Webhooks if it has those three headers.
 */
export function isSigned(kind: SignatureKind, signed: Signed): boolean {
  // An empty secret proves nothing.
  if (signed.secret === '') return false;
  return CHECKS[kind](signed) || (isStandard(signed) && standardWebhooks(signed));
}

/** The signature kind of a plan's value; null for any other value. */
export function asSignatureKind(value: unknown): SignatureKind | null {
  return SIGNATURE_KINDS.find((kind) => kind === value) ?? null;
}
