import { Refusal } from '../../shared/refusal.js';
import type { OpenedSecret, Shape, ShapeValues } from '../model.js';
import type { TokenOf } from './program-secrets.js';

type Stand<S extends Shape> = (value: ShapeValues[S], token: () => Promise<string>) => Promise<string | null>;

const live: Stand<'oauth2' | 'service_account'> = (_value, token) => token();

/** What `${NAME}` stands for. */
const STANDS = {
  value: async (value) => value,
  file: async ({ content }) => content,
  oauth2: live,
  service_account: live,
  ssh: async () => null,
  api: async ({ key }) => key,
} as const satisfies { readonly [S in Shape]: Stand<S> };

/** The text that takes a placeholder's place; refuses a secret that has none. */
export async function placeholderText(secret: OpenedSecret, tokenOf: TokenOf): Promise<string> {
  const stand = STANDS[secret.shape] as Stand<Shape>;
  const text = await stand(secret.value, () => tokenOf(secret));
  if (text !== null) return text;
  throw new Refusal(
    'refused',
    `the secret ${secret.name} is an ssh key, which only git and ssh can use: \${${secret.name}} stands for nothing`,
  );
}
