import { listOf } from '../list-readers.js';
import { type KeyTable, key } from '../read-keys.js';
import { text, word } from '../reader.js';

export const KNOWLEDGE_KEYS = {
  title: key(text, 'Title in lists; the first heading when left out.'),
  description: key(text, 'What it holds, so that an agent knows when to read it.'),
  tags: key(listOf(word), 'Your own words for it.'),
  review_by: key(word, 'Date by which a person should read it again.'),
} satisfies KeyTable;

export const MEMORY_KEYS = {
  description: key(text, 'What it holds.'),
  updated: key(word, 'When it was last written.'),
  by: key(word, 'The agent that wrote it.'),
  run: key(word, 'The run that wrote it.'),
} satisfies KeyTable;
