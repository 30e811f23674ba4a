import { type KeyTable, key } from '../read-keys.js';
import { json, text } from '../reader.js';

/** Keys of the Agent Skills format. Other keys are accepted. */
export const SKILL_KEYS = {
  name: key(text, 'The folder’s name.'),
  description: key(text, 'What the skill does, and when to use it.', { required: true }),
  license: key(json, 'Its licence.'),
  compatibility: key(json, 'What it needs.'),
  metadata: key(json, 'Your own notes.'),
  'allowed-tools': key(json, 'Tools that it uses; not enforced.'),
} satisfies KeyTable;
