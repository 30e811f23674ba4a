import { expect, test } from 'vitest';
import { OPTION_VOCABULARY, VOCABULARY } from '../../../src/format/index.js';
import { check } from './tree.js';

test('every kind of document and every option has its keys with a type and a sentence', () => {
  expect(VOCABULARY.map(({ kind }) => kind)).toEqual([
    'workspace',
    'agent',
    'flow',
    'eval',
    'tool',
    'skill',
    'knowledge',
    'memory',
  ]);
  for (const { type, description } of [
    ...VOCABULARY.flatMap(({ keys }) => keys),
    ...Object.values(OPTION_VOCABULARY).flat(),
  ]) {
    expect(type).not.toBe('');
    expect(description.length).toBeGreaterThan(4);
  }
});

test('every key of the vocabulary is one that the reader knows', () => {
  const at = {
    workspace: 'AGENTS.md',
    agent: 'agents/a.md',
    flow: 'flows/a.md',
    eval: 'evals/a.md',
    tool: 'tools/a.md',
    knowledge: 'knowledge/a.md',
    memory: 'memory/a.md',
  };
  for (const [kind, path] of Object.entries(at)) {
    const keys = VOCABULARY.find((entry) => entry.kind === kind)?.keys ?? [];
    const text = `---\n${keys.map(({ key }) => `${key}:`).join('\n')}\n---\n## A\n\n- wait: 1h\n`;
    expect(check({ [path]: text }).issues.filter(({ code }) => code.endsWith('unknown-key'))).toEqual([]);
  }
});
