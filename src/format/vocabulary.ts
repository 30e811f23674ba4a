import { AGENT_KEYS } from './parse/keys/agent-keys.js';
import { KNOWLEDGE_KEYS, MEMORY_KEYS } from './parse/keys/document-keys.js';
import { CASE_OPTIONS, EVAL_KEYS } from './parse/keys/eval-keys.js';
import { FLOW_KEYS } from './parse/keys/flow-keys.js';
import { SKILL_KEYS } from './parse/keys/skill-keys.js';
import { TOOL_KEYS } from './parse/keys/tool-keys.js';
import { WORKSPACE_KEYS } from './parse/keys/workspace-keys.js';
import type { KeyTable } from './parse/read-keys.js';
import { GROUP_OPTIONS, STEP_OPTIONS } from './parse/step-options.js';

export interface VocabularyKey {
  readonly key: string;
  readonly type: string;
  readonly required: boolean;
  readonly values?: readonly string[];
  readonly description: string;
}

export interface VocabularyKind {
  readonly kind: string;
  readonly folder: string;
  readonly file: string;
  readonly keys: readonly VocabularyKey[];
}

/** Every kind of document with its frontmatter keys, generated from the tables that the reader uses. */
export const VOCABULARY: readonly VocabularyKind[] = [
  { kind: 'workspace', folder: '', file: 'AGENTS.md', keys: keysOf(WORKSPACE_KEYS) },
  { kind: 'agent', folder: 'agents/', file: '<name>.md', keys: keysOf(AGENT_KEYS) },
  { kind: 'flow', folder: 'flows/', file: '<name>.md', keys: keysOf(FLOW_KEYS) },
  { kind: 'eval', folder: 'evals/', file: '<name>.md', keys: keysOf(EVAL_KEYS) },
  { kind: 'tool', folder: 'tools/', file: '<name>.md', keys: keysOf(TOOL_KEYS) },
  { kind: 'skill', folder: 'skills/', file: '<name>/SKILL.md', keys: keysOf(SKILL_KEYS) },
  { kind: 'knowledge', folder: 'knowledge/', file: '<path>.md', keys: keysOf(KNOWLEDGE_KEYS) },
  { kind: 'memory', folder: 'memory/', file: '<path>.md', keys: keysOf(MEMORY_KEYS) },
];

/** Options under the headings of flows and evals. */
export const OPTION_VOCABULARY: Readonly<Record<'step' | 'group' | 'case', readonly VocabularyKey[]>> = {
  step: keysOf(STEP_OPTIONS),
  group: keysOf(GROUP_OPTIONS),
  case: keysOf(CASE_OPTIONS),
};

function keysOf(table: KeyTable): VocabularyKey[] {
  return Object.entries(table).map(([key, { reader, description, required = false }]) => ({
    key,
    type: reader.type,
    required,
    ...(reader.values === undefined ? {} : { values: reader.values }),
    description,
  }));
}
