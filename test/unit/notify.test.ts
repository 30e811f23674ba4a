import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { contentOf, type Facts, oneLine } from '../../src/notify/content.js';
import { recipientsOf } from '../../src/notify/recipients.js';
import { signature, signedHeaders, signingSecret } from '../../src/notify/sign.js';
import { targetsIn } from '../../src/runs/index.js';
import { fc } from '../support/properties.js';

test('the public vector of Standard Webhooks', () => {
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', seconds: 1_614_265_330, body: '{"test": 2432232314}' };
  expect(signature('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', message)).toBe(
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  );
});

test('the official library takes a POST under the secret of now and, for a day, under the one of before', () => {
  const [now, old] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
  const keys = { signing: now, ring: [now, old].map((key, index) => ({ id: `k${index}`, key })) };
  const nowMs = Date.now();
  const body = '{"event":"test"}';
  const headersAt = (ageMs: number) =>
    signedHeaders({ keys }, { tenant: 't', version: 2, since: new Date(nowMs - ageMs) }, { id: 'm1', nowMs, body });
  const takes = (secret: string, headers: Readonly<Record<string, string>>, text = body) => {
    try {
      new Webhook(secret).verify(text, { ...headers });
      return true;
    } catch {
      return false;
    }
  };
  for (const key of [now, old]) expect(takes(signingSecret(key, 't', 2), headersAt(86_400_001))).toBe(true);
  expect(takes(signingSecret(now, 't', 1), headersAt(3_600_000))).toBe(true);
  expect(takes(signingSecret(now, 't', 1), headersAt(86_400_001))).toBe(false);
  expect(takes(signingSecret(now, 'u', 2), headersAt(0))).toBe(false);
  expect(takes(signingSecret(now, 't', 2), headersAt(0), '{"event":"test" }')).toBe(false);
});

test.each([
  ['nobody', [null, null, null], { emails: [], url: null, events: null }],
  ['the account', [null, null, { email: 'a@x.test' }], { emails: ['a@x.test'], url: null, events: null }],
  [
    'the nearest names all targets',
    [{ url: 'https://x.test' }, { email: ['a@x.test', 'b@x.test'], events: ['run.completed'] }, null],
    { emails: [], url: 'https://x.test', events: null },
  ],
  [
    'events above a target count for it',
    [{ events: ['run.completed'] }, { email: 'a@x.test', events: ['run.failed'] }, { url: 'https://x.test' }],
    { emails: ['a@x.test'], url: null, events: ['run.completed'] },
  ],
])('whom notify names: %s', (_name, levels, wanted) => {
  expect(targetsIn(levels as never)).toEqual(wanted);
});

const MEMBERS = [
  { email: 'owner@x.test', role: 'owner' },
  { email: 'admin@x.test', role: 'admin' },
  { email: 'ed@x.test', role: 'editor' },
] as const;
const TEAM = { emails: ['Team@x.test'], url: 'https://x.test/hook', events: null };

test.each([
  ['approval.waiting', TEAM, ['human'], ['Team@x.test', 'https://x.test/hook']],
  ['approval.waiting', TEAM, ['owner', 'team@X.test'], ['team@X.test', 'owner@x.test', 'https://x.test/hook']],
  [
    'approval.waiting',
    { ...TEAM, events: ['run.failed'] },
    ['role:admin', 'b@y.test'],
    ['owner@x.test', 'admin@x.test', 'b@y.test'],
  ],
  ['approval.reminder', TEAM, ['b@y.test'], ['b@y.test']],
  ['approval.timeout', TEAM, ['b@y.test'], []],
  ['run.failed', TEAM, [], ['Team@x.test', 'https://x.test/hook']],
  ['run.completed', TEAM, [], []],
  ['run.completed', { ...TEAM, events: ['run.completed'] }, [], ['Team@x.test', 'https://x.test/hook']],
] as const)('%s of %j with deciders %j is told to %j', (event, targets, deciders, wanted) => {
  const told = recipientsOf({ event, targets, deciders, members: MEMBERS, onlyDeciders: false });
  expect(told.map(({ target }) => target).toSorted()).toEqual([...wanted].toSorted());
});

const FACTS: Facts = {
  event: 'approval.waiting',
  data: {},
  account: 'Main',
  workspace: 'shop',
  run: 'r1',
  flow: 'refunds',
  step: 'sign',
  title: 'Sign it',
  ask: 'Right?',
  due: null,
  error: null,
  summary: null,
  at: '2026-01-01T00:00:00.000Z',
};

test.each([
  ['a summary', { summary: 'Refund 12 EUR\nto Ann' }, 'Refund 12 EUR to Ann'],
  ['none yet', {}, 'refunds: Sign it'],
  ['no gate', { title: null, event: 'run.failed' as const }, 'refunds: the run failed'],
  [
    'no run',
    { workspace: null, flow: null, title: null, event: 'connection.expired' as const, data: { secret: 'CRM' } },
    'Main: the connection CRM has to be made again',
  ],
  [
    'no run, in a workspace',
    { flow: null, title: null, event: 'deploy.refused' as const },
    'shop: a deploy was refused',
  ],
])('the subject with %s', (_name, facts, subject) => {
  expect(contentOf({ ...FACTS, ...facts }).subject).toBe(subject);
});

test('security 12: nothing that a run says begins a header of a mail', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (text) => {
      expect(oneLine(`a${text}\r\nBcc: x@y.test`)).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
    }),
  );
});
