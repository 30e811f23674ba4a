import { beforeAll, expect, test } from 'vitest';
import { deriveToken } from '../../src/shared/tokens.js';
import { type AccessStage, createAccessStage } from '../support/access-stage.js';
import { send } from '../support/hooks.js';
import { bodyOf } from '../support/workspace-app.js';
import { parked } from '../support/writes.js';

let stage: AccessStage;
beforeAll(async () => {
  stage = await createAccessStage();
});

const addressOf = (run: string, token = deriveToken(stage.app.deps.keys.signing, 'event', [run])) =>
  `/api/events/${stage.app.tenant}/${stage.workspace}/${run}?token=${token}`;

async function payloadOf(run: string): Promise<unknown> {
  const rows = await stage.app.deps.db.query<{ payload: unknown }>(
    'SELECT payload FROM park WHERE run_id = $1 AND decided_at IS NOT NULL',
    [run],
  );
  return rows.map(({ payload }) => payload);
}

const PART = '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n';

test.each<[string, string, string, unknown]>([
  ['JSON', 'application/json', '{"a":[1]}', { a: [1] }],
  ['a form, all of its fields', 'application/x-www-form-urlencoded', 'a=1&b=2&b=3', { a: '1', b: ['2', '3'] }],
  ['a form in parts', 'multipart/form-data; boundary=x', PART, { a: '1' }],
  ['JSON that says it is a form', 'application/x-www-form-urlencoded', '{"a":1}', { a: 1 }],
  ['JSON that says it is text', 'text/plain', '{"a":1}', { a: 1 }],
  ['text', 'text/plain', 'It arrived.', 'It arrived.'],
  ['nothing', 'application/json', '', null],
  ['what no row can hold', 'application/json', '{"a":"\\u0000"}', { a: '\uFFFD' }],
])('a run is released by %s, which becomes the payload', async (_name, type, body, payload) => {
  const run = await parked(stage, 'event');
  const answer = await send(stage.app, addressOf(run), body, { type });
  expect(answer).toEqual([200, { ok: true, runId: run, step: 'say_it' }]);
  expect(await payloadOf(run)).toEqual([payload]);
});

test.each<[string, string, string | Uint8Array, number]>([
  ['broken JSON', 'application/json', '{', 400],
  ['bytes', 'application/octet-stream', new Uint8Array([0xff, 0xfe]), 400],
  ['JSON that is nested too deep', 'application/json', '['.repeat(100) + ']'.repeat(100), 422],
  ['a body over the limit', 'text/plain', 'x'.repeat(2 * 1024 * 1024), 413],
])('no event is spent on %s', async (_name, type, body, status) => {
  const run = await parked(stage, 'event');
  const [got, answer] = await send(stage.app, addressOf(run), body, { type });
  expect([got, answer]).toMatchObject([
    status,
    {
      error: expect.any(String),
      ...(body instanceof Uint8Array && { code: 'not-utf-8' }),
      ...(status === 413 && { limitBytes: 1048576 }),
    },
  ]);
  expect((await send(stage.app, addressOf(run), {}))[0]).toBe(200);
  expect(await payloadOf(run)).toEqual([{}]);
});

test('security 11: whatever is wrong with an event’s address, the answer is one and the same, before any fault of the body', async () => {
  const run = await parked(stage, 'event');
  const places = [
    addressOf(run, ''),
    addressOf(run, 'x'.repeat(300)),
    addressOf(run).replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
    addressOf('no-such-run'),
    addressOf(run, deriveToken(stage.app.deps.keys.signing, 'hook', [run])),
    addressOf(run).replace(`/${stage.app.tenant}/`, '/other/'),
  ];
  for (const place of places) {
    for (const body of ['{}', '{', 'x'.repeat(2 * 1024 * 1024)]) {
      expect(await send(stage.app, place, body)).toEqual([
        401,
        { error: 'the token is not valid here', code: 'unauthenticated' },
      ]);
    }
  }
  expect(await payloadOf(run)).toEqual([]);
});

test('an event’s address with the name of another workspace is 404, and spends nothing; a name that no workspace has may be an earlier one', async () => {
  const { name } = (await bodyOf(stage.app.post('/api/workspaces', { name: 'another-one' }))) as { name: string };
  const run = await parked(stage, 'event');
  const at = (workspace: string) => addressOf(run).replace(`/${stage.workspace}/`, `/${workspace}/`);
  expect(await send(stage.app, at(name), {})).toMatchObject([404, { error: 'no such run' }]);
  expect((await send(stage.app, `${at(name)}x`, {}))[0]).toBe(401);
  expect(await payloadOf(run)).toEqual([]);
  expect((await send(stage.app, at('its-earlier-name'), {}))[0]).toBe(200);
});

test('an event to a run that waits for none is a conflict, twice and late as well', async () => {
  const none = await parked(stage, 'approval');
  expect((await send(stage.app, addressOf(none), {}))[0]).toBe(409);
  const run = await parked(stage, 'event');
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => send(stage.app, addressOf(run), { n })));
  expect(answers.map(([status]) => status).toSorted()).toEqual([200, ...Array<number>(19).fill(409)]);
  const error = 'the run is not waiting on an event';
  expect(await send(stage.app, addressOf(run), {})).toEqual([409, { error, code: 'conflict' }]);
  expect(await payloadOf(run)).toHaveLength(1);
});
