import type { SecretValue, Shape } from '../model.js';
import { api } from './api.js';
import { file } from './file.js';
import { oauth2 } from './oauth2.js';
import { serviceAccount } from './service-account.js';
import type { ShapeRules } from './shape.js';
import { ssh } from './ssh.js';
import { value } from './value.js';

const RULES = { value, file, oauth2, service_account: serviceAccount, ssh, api } as const satisfies {
  readonly [S in Shape]: ShapeRules<S>;
};

export const SHAPES = Object.keys(RULES) as readonly Shape[];

function rulesOf(shape: Shape): ShapeRules<Shape> {
  return RULES[shape] as ShapeRules<Shape>;
}

/** What is wrong with a value, as a sentence that never quotes it; null when it can be stored. */
export async function faultOf({ shape, value: content }: SecretValue): Promise<string | null> {
  return rulesOf(shape).fault(content);
}

/** The texts in it that must be redacted everywhere. */
export function hiddenTexts({ shape, value: content }: SecretValue): readonly string[] {
  return rulesOf(shape).hidden(content);
}
