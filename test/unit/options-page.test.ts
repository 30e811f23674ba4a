import { expect, test } from 'vitest';
import { CASES, ROWS } from '../support/options/index.js';
import { KEYS_OF, optionsPage } from '../support/options/markdown.js';
import type { Family } from '../support/options/row.js';

/** Keys that do not act on a run once it has started, and those whose part of the engine is not here. */
const NO_ROW: Readonly<Record<'flow' | 'agent', readonly string[]>> = {
  flow: [
    ...['name', 'description', 'pattern', 'notify', 'secrets'],
    ...['trigger', 'signature', 'signing_secret', 'signature_header', 'dedupe', 'filter', 'debounce', 'from', 'event'],
    ...['cron', 'timezone', 'catch_up', 'overlap'],
  ],
  agent: [
    ...['name', 'description', 'metadata', 'tools', 'disallowedTools', 'model', 'skills', 'mcpServers', 'secrets'],
    ...['knowledge', 'memory', 'agents', 'network', 'runtime', 'config'],
  ],
};

const rowsOf = (...families: readonly Family[]) => ROWS.filter(({ of }) => families.includes(of)).map(({ key }) => key);
const keysOf = (family: Family) => KEYS_OF[family].map(({ key }) => key);

test('every option of steps, gates and groups has exactly one row, and no row is of an option that there is not', () => {
  expect(rowsOf('step', 'gate').toSorted()).toEqual(keysOf('step').toSorted());
  expect(rowsOf('group').toSorted()).toEqual(keysOf('group').toSorted());
});

test.each(['flow', 'agent'] as const)(
  'every key of a %s has a row, or is named as one that acts on no run',
  (family) => {
    expect([...rowsOf(family), ...NO_ROW[family]].toSorted()).toEqual(keysOf(family).toSorted());
  },
);

test('every row has a case, and the cases have names of their own', () => {
  expect(ROWS.filter(({ cases }) => Object.keys(cases).length === 0)).toEqual([]);
  expect(new Set(CASES.map(({ name }) => name)).size).toBe(CASES.length);
});

test('docs/format/step-options.md is what the rows say; `npx vitest run --project unit test/unit/options-page.test.ts -u` does so', async () => {
  await expect(optionsPage()).toMatchFileSnapshot('../../docs/format/step-options.md');
});
