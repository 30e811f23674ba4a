import type { ProviderKind } from '../contract.js';
import { anthropic } from './anthropic.js';
import { google } from './google.js';
import { openai } from './openai.js';
import { openaiCompatible } from './openai-compatible.js';
import type { Provider } from './provider.js';
import { scripted } from './scripted.js';

export const PROVIDERS = {
  'openai-compatible': openaiCompatible,
  openai,
  anthropic,
  google,
  scripted,
} as const satisfies Record<ProviderKind, Provider>;

export function isProviderKind(name: string): name is ProviderKind {
  return Object.hasOwn(PROVIDERS, name);
}
