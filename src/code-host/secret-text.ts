import type { OpenedSecret } from '../secrets/index.js';

/** The text of a secret; null for a shape without one. */
export function secretText(secret: OpenedSecret): string | null {
  if (secret.shape === 'value') return secret.value;
  if (secret.shape === 'file') return secret.value.content;
  return secret.shape === 'api' ? secret.value.key : null;
}
