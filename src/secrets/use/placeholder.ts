import { Refusal } from '../../shared/refusal.js';
import type { OpenedSecret, Shape, ShapeValues } from '../model.js';
import type { TokenOf } from './program-secrets.js';

type Replacement<S extends Shape> = (value: ShapeValues[S], token: () => Promise<string>) => Promise<string | null>;

const live: Replacement<'oauth2' | 'service_account'> = (_value, token) => token();

/** The text that replaces `${NAME}`, by shape. */
const REPLACEMENTS = {
  value: async (value) => value,
  file: async ({ content }) => content,
  oauth2: live,
  service_account: live,
  ssh: async () => null,
  api: async ({ key }) => key,
} as const satisfies { readonly [S in Shape]: Replacement<S> };

/** The text that replaces a placeholder; refuses a secret that has none. */
export async function placeholderText(secret: OpenedSecret, tokenOf: TokenOf): Promise<string> {
  const replacementOf = REPLACEMENTS[secret.shape] as Replacement<Shape>;
  const text = await replacementOf(secret.value, () => tokenOf(secret));
  if (text !== null) return text;
  throw new Refusal(
    'refused',
    `the secret ${secret.name} is an ssh key, which only git and ssh can use: \${${secret.name}} has no value`,
  );
}
