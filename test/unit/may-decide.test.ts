import { expect, test } from 'vitest';
import { assertMayDecide, type GateMoment, mayDecide } from '../../src/runs/may-decide.js';
import { Refusal } from '../../src/shared/refusal.js';
import type { Caller, Role } from '../../src/shared/roles.js';

const HOUR = 3_600_000;
const person = (id: string) => ({ id, email: `${id}@example.com` });
const caller = (role: Role, id: string | null, kind: Caller['actor']['kind'] = 'person'): Caller => ({
  tenant: 't',
  role,
  workspaces: null,
  actor: { kind, id: 'k', label: 'a key' },
  person: id === null ? null : person(id),
  signedIn: kind === 'person',
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

test.each([
  [['human'], 'editor', true],
  [['human'], 'viewer', false],
  [['owner'], 'owner', false],
  [['role:editor'], 'admin', false],
  [['ann@example.com'], 'admin', false],
  [['ann@example.com', 'human'], 'editor', true],
] as const)('a gate for %j is decided by a key of a %s whom it names: %s', (approvers, role, may) => {
  expect(mayDecide(moment({ approvers }), caller(role, 'ann', 'key'))).toBe(may);
  // What escalates to a person is not given to their key either.
  const gate = { approvers: ['bob@example.com'], escalate: { afterMs: 0, to: 'ann@example.com' } };
  expect(mayDecide(moment(gate), caller(role, 'ann', 'key'))).toBe(false);
});

test('a link decides as its person, and a link without a person only what is open to all', () => {
  for (const [approvers, id, may] of [
    [['ann@example.com'], 'ann', true],
    [['role:admin'], 'ann', true],
    [['role:editor'], null, false],
    [['human'], null, true],
  ] as const)
    expect([approvers, mayDecide(moment({ approvers }), caller('admin', id, 'link'))]).toEqual([approvers, may]);
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
  expect(decide).toThrow(/^this gate is decided by owner, but not the one who started the run$/);
  const byKey = (id: string) => () =>
    assertMayDecide(moment({ approvers: ['ann@example.com'] }), caller('editor', id, 'key'));
  expect(byKey('bob')).toThrow(/^this gate is decided by ann@example.com$/);
  expect(byKey('ann')).toThrow(/^this gate is decided by ann@example.com, signed in or by their link: an API key/);
});
