import { expect, test } from 'vitest';
import { assertMayDecide, type GateMoment, mayDecide } from '../../src/runs/may-decide.js';
import { Refusal } from '../../src/shared/refusal.js';
import type { Caller, Role } from '../../src/shared/roles.js';

const HOUR = 3_600_000;
const person = (id: string) => ({ id, email: `${id}@example.com` });
const caller = (role: Role, id: string | null): Caller => ({
  tenant: 't',
  role,
  workspaces: null,
  actor: { kind: 'key', id: 'k', label: 'a key' },
  person: id === null ? null : person(id),
  signedIn: false,
  address: null,
});
const moment = (gate: Partial<GateMoment['gate']>, more: Partial<GateMoment> = {}): GateMoment => ({
  gate: { approvers: ['human'], self: true, escalate: null, ...gate },
  openedAtMs: 0,
  nowMs: HOUR,
  starter: null,
  ...more,
});

test.each([
  [['human'], 'viewer', false],
  [['human'], 'editor', true],
  [['human'], 'owner', true],
  [['role:admin'], 'editor', false],
  [['role:admin'], 'admin', true],
  [['role:nobody'], 'owner', false],
  [['owner'], 'admin', false],
  [['owner'], 'owner', true],
  [['ann@example.com'], 'viewer', true],
  [['ANN@Example.com'], 'editor', true],
  [['bob@example.com'], 'owner', false],
  [['bob@example.com', 'role:admin'], 'admin', true],
  [[], 'owner', false],
] as const)('a gate for %j is decided by a %s: %s', (approvers, role, may) => {
  expect(mayDecide(moment({ approvers }), caller(role, 'ann'))).toBe(may);
});

test('with self: false the one who started the run may not decide, whatever the role', () => {
  expect(mayDecide(moment({ self: false }, { starter: 'ann' }), caller('owner', 'ann'))).toBe(false);
  expect(mayDecide(moment({ self: false }, { starter: 'ann' }), caller('editor', 'bob'))).toBe(true);
  expect(mayDecide(moment({ self: false }), caller('editor', 'bob'))).toBe(true);
});

test('an escalation adds its decider once its time has come, and not before', () => {
  const gate = { approvers: ['bob@example.com'], escalate: { afterMs: HOUR, to: 'owner' } };
  expect(mayDecide(moment(gate, { nowMs: HOUR - 1 }), caller('owner', 'ann'))).toBe(false);
  expect(mayDecide(moment(gate, { nowMs: HOUR }), caller('owner', 'ann'))).toBe(true);
});

test('who may not is told who may', () => {
  const decide = () => assertMayDecide(moment({ approvers: ['owner'], self: false }), caller('editor', 'ann'));
  expect(decide).toThrow(Refusal);
  expect(decide).toThrow('this gate is decided by owner, but not the one who started the run');
});
