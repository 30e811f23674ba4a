import { expect, test } from 'vitest';
import { isGated } from '../../src/engine/agent/gated-calls.js';
import type { AgentTool } from '../../src/tools/contract.js';

const tool = (ref: string, name = ref.replace('.', '__')) => ({ ref, spec: { name } }) as AgentTool;

test.each([
  [['crm'], tool('crm'), true],
  [['crm'], tool('crm.create'), true],
  [['crm.create'], tool('crm.create'), true],
  [['crm.create'], tool('crm.read'), false],
  [['crm'], tool('crm-lite'), false],
  [['crm'], tool('crm-lite.create'), false],
  // Names that no model takes as they are.
  [['crm.orders/create'], tool('crm.orders/create', 'crm__orders_create'), true],
  [['crm.orders_create'], tool('crm.orders/create', 'crm__orders_create'), true],
  [['crm__orders_create'], tool('crm.orders/create', 'crm__orders_create'), true],
  [['crm.v1.orders'], tool('crm.v1.orders', 'crm__v1_orders'), true],
  [['crm.v1'], tool('crm.v1.orders', 'crm__v1_orders'), false],
  [[], tool('ask_human'), true],
  [[], tool('crm'), false],
])('approve: %j gates a call of %o: %s', (approve, called, gated) => {
  expect(isGated(approve, called)).toBe(gated);
});
