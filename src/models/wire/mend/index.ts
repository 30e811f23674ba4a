import type { ProviderKind } from '../../contract.js';
import { mendAnthropic } from './anthropic.js';
import { mendChat } from './chat.js';
import { mendGoogle } from './google.js';
import type { Mender } from './mender.js';
import { mendResponses } from './responses.js';

export const MENDERS = {
  'openai-compatible': mendChat,
  openai: mendResponses,
  anthropic: mendAnthropic,
  google: mendGoogle,
  // The scripted provider has no wire format.
  scripted: (event) => [event],
} as const satisfies Record<ProviderKind, Mender>;
