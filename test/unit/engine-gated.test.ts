import { expect, test } from 'vitest';
import { isGated } from '../../src/engine/agent/gated-calls.js';

test.each([
  [['crm'], 'crm', true],
  [['crm'], 'crm__create', true],
  [['crm.create'], 'crm__create', true],
  [['crm.create'], 'crm__read', false],
  [['crm'], 'crm-lite', false],
  [['crm'], 'crm-lite__create', false],
  [[], 'ask_human', true],
  [[], 'crm', false],
])('approve: %j gates a call of %s: %s', (approve, name, gated) => {
  expect(isGated(approve, name)).toBe(gated);
});
