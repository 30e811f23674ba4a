import { checkClosed } from './check-closed.js';
import { checkProse } from './check-variables.js';
import { checkIgnoredKeys } from './ignored/check-ignored-keys.js';
import { AGENT_KEYS, IGNORED_AGENT_KEYS } from './keys/agent-keys.js';
import type { OpenFile } from './open-file.js';
import { type Prose, readProse } from './prose.js';
import { type KeyValues, readKeys } from './read-keys.js';

export interface ReadAgent {
  readonly kind: 'agent';
  readonly name: string;
  readonly keys: KeyValues<typeof AGENT_KEYS>;
  readonly prompt: Prose;
}

export function readAgent(file: OpenFile, name: string): ReadAgent {
  const keys = readKeys(file, AGENT_KEYS, { node: file.node, kind: 'agent', ignored: IGNORED_AGENT_KEYS });
  const prompt = readProse(file.source, [{ start: file.bodyStart, end: file.source.text.length }]);
  checkClosed(file);
  checkIgnoredKeys(file, AGENT_KEYS, 'agent');
  checkProse(file, prompt, {});
  return { kind: 'agent', name, keys, prompt };
}
