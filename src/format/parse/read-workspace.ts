import { checkClosed } from './check-closed.js';
import { checkProse } from './check-variables.js';
import { checkIgnoredKeys } from './ignored/check-ignored-keys.js';
import { WORKSPACE_KEYS } from './keys/workspace-keys.js';
import type { OpenFile } from './open-file.js';
import { type Prose, readProse } from './prose.js';
import { type KeyValues, readKeys } from './read-keys.js';

/** AGENTS.md: the defaults, and the instructions for every agent. */
export interface ReadDefaults {
  readonly kind: 'workspace';
  readonly keys: KeyValues<typeof WORKSPACE_KEYS>;
  readonly instructions: Prose;
}

export function readDefaults(file: OpenFile): ReadDefaults {
  const keys = readKeys(file, WORKSPACE_KEYS, { node: file.node, kind: 'workspace' });
  const instructions = readProse(file.source, [{ start: file.bodyStart, end: file.source.text.length }]);
  checkClosed(file);
  checkIgnoredKeys(file, WORKSPACE_KEYS, 'workspace');
  checkProse(file, instructions, {});
  return { kind: 'workspace', keys, instructions };
}
