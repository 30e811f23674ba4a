import type { Deps } from '../deps.js';
import { CannotOpen } from './envelope.js';
import type { OpenedSecret, SecretPlace } from './model.js';
import { openSecret } from './open-secret.js';

export type SecretText =
  | { readonly kind: 'text'; readonly text: string; readonly secret: OpenedSecret }
  | { readonly kind: 'missing' }
  /** `why` is a predicate whose subject is the secret. */
  | { readonly kind: 'unusable'; readonly why: string };

/** The text of the nearest secret of this name: a value, a file's content or an API key. */
export async function readText({ db, keys }: Pick<Deps, 'db' | 'keys'>, place: SecretPlace): Promise<SecretText> {
  try {
    const secret = await openSecret(db, keys, place);
    if (secret === null) return { kind: 'missing' };
    const text = textOf(secret);
    return text === null ? { kind: 'unusable', why: 'is not a text' } : { kind: 'text', text, secret };
  } catch (error) {
    if (error instanceof CannotOpen) return { kind: 'unusable', why: 'cannot be opened' };
    throw error;
  }
}

function textOf(secret: OpenedSecret): string | null {
  if (secret.shape === 'value') return secret.value;
  if (secret.shape === 'file') return secret.value.content;
  return secret.shape === 'api' ? secret.value.key : null;
}
