import { expect, test } from 'vitest';
import { makeInvite, signUp as signUpDirectly } from '../../src/people/index.js';
import { foldName, newId } from '../../src/shared/ids.js';
import { createTestApp, type TestApp } from '../support/create-test-app.js';
import { fillLine } from '../support/password-line.js';
import { createPerson, logIn, PASSWORD, someAddress } from '../support/sessions.js';

const fresh = () => `new-${newId()}@somewhere.test`;
const name = () => `Shop ${newId()}`;
const signUp = (app: TestApp, body: object, headers: Record<string, string> = {}) =>
  app.post('/api/auth/signup', { password: PASSWORD, ...body }, { as: null, headers });
const answer = async (response: Response) => [response.status, await response.json()];
const open = { signup: 'open' } as const;

test('whoever signs up owns a new account, and can sign in', async () => {
  const app = await createTestApp({ config: open });
  const [email, account] = [fresh(), name()];
  expect(await answer(await signUp(app, { email: email.toUpperCase(), account }))).toEqual([
    202,
    { ok: true, next: 'sign in: POST /api/auth/login' },
  ]);
  const session = await logIn(app, email);
  expect(await session.json()).toMatchObject({
    account: account.toLowerCase().replace(' ', '-'),
    name: account,
    owner: email,
    role: 'owner',
    workspaces: null,
  });
});

test('signing up with an address that has an account answers the same, changes nothing, and its account is told', async () => {
  const app = await createTestApp({ config: open });
  const person = await createPerson(app);
  const [taken, free] = [
    await signUp(app, { email: person.email, account: name(), password: 'an intruder’s password' }),
    await signUp(app, { email: fresh(), account: name() }),
  ];
  expect(await answer(taken)).toEqual(await answer(free));
  expect(taken.headers.get('set-cookie')).toBe(free.headers.get('set-cookie'));
  expect((await logIn(app, person.email, { password: 'an intruder’s password' })).status).toBe(401);
  expect((await logIn(app, person.email)).status).toBe(200);
  const rows = await app.deps.db.query(
    `SELECT target FROM audit_entry WHERE tenant_id = $1 AND action LIKE 'account.%'`,
    [app.tenant],
  );
  expect(rows).toEqual([{ target: person.id }]);
});

test('an account’s name that is taken is said, whether or not the address is', async () => {
  const app = await createTestApp({ config: open });
  const person = await createPerson(app);
  const taken = { error: `an account "${app.tenant}" is there already: choose another name`, code: 'account-taken' };
  for (const email of [person.email, fresh()])
    expect(await answer(await signUp(app, { email, account: app.tenant.toUpperCase() }))).toEqual([409, taken]);
});

test('a name answers alike whether or not the first address that asked for it was known', async () => {
  const app = await createTestApp({ config: open });
  const person = await createPerson(app);
  const answersFor = async (first: string) => {
    const account = name();
    const answers = [];
    for (const email of [first, fresh(), fresh(), first]) {
      const [status, body] = await answer(await signUp(app, { email, account }));
      answers.push([status, JSON.stringify(body).replaceAll(foldName(account), '<name>')]);
    }
    return answers;
  };
  const [known, unknown] = [await answersFor(person.email), await answersFor(fresh())];
  expect(known).toEqual(unknown);
  expect(known.map(([status]) => status)).toEqual([202, 409, 409, 409]);
});

test('at once, too, a name goes to one address or to none, and the answers tell nothing of the addresses', async () => {
  const app = await createTestApp({ config: open });
  const person = await createPerson(app);
  for (const first of [person.email, fresh()]) {
    const account = name();
    const answers = await Promise.all([first, fresh(), fresh()].map((email) => signUp(app, { email, account })));
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 409, 409]);
  }
});

test('strangers who try an address keep nobody from joining by an invite', async () => {
  const app = await createTestApp({ config: { signup: 'invite', trustProxy: true } });
  const email = fresh();
  const token = await invite(app, email);
  const tries = (body: object) => signUp(app, { email, ...body }, { 'x-forwarded-for': someAddress() });
  for (let n = 0; n < 5; n += 1) expect((await tries({ invite: 'made-up' })).status).toBe(403);
  expect((await tries({ invite: 'made-up' })).status).toBe(429);
  expect((await tries({ invite: token })).status).toBe(202);
});

test('of two at once with one address, or one name, one gets it, and nothing is left of the other', async () => {
  const app = await createTestApp({ config: open });
  const [email, account] = [fresh(), name()];
  const names = [name(), name()];
  await Promise.all(names.map((each) => signUp(app, { email, account: each })));
  expect(await app.deps.db.query('SELECT 1 FROM tenant WHERE name = ANY($1)', [names])).toHaveLength(1);
  const answers = await Promise.all([fresh(), fresh()].map((each) => signUp(app, { email: each, account })));
  expect(answers.map(({ status }) => status).sort()).toEqual([202, 409]);
});

const CLOSED = {
  error: 'sign-up is closed here: ask the people who run this service for access',
  code: 'signup-closed',
};
const NO_INVITE = {
  error: 'signing up here takes an invite: ask an admin of the account for one',
  code: 'signup-invite',
};
const BAD_INVITE = {
  error: 'this invite is not valid for this address: ask the person who invited you for a new one',
  code: 'invite',
};

test.each([
  ['closed', { account: 'x' }, CLOSED],
  ['closed', { invite: 'made-up' }, CLOSED],
  ['invite', { account: 'x' }, NO_INVITE],
  ['invite', { invite: 'made-up' }, BAD_INVITE],
  ['open', { invite: 'made-up' }, BAD_INVITE],
] as const)('with SERVICE_SIGNUP=%s and %j every address gets the same refusal', async (signup, body, refusal) => {
  const app = await createTestApp({ config: { signup } });
  const person = await createPerson(app);
  for (const email of [person.email, fresh()])
    expect(await answer(await signUp(app, { email, ...body }))).toEqual([403, refusal]);
});

async function invite(app: TestApp, email: string): Promise<string> {
  const place = { role: 'editor', allWorkspaces: false, workspaces: ['shop'] } as const;
  return (await makeInvite(app.deps.db, { ...place, tenant: app.tenant, email, by: app.owner.id })).token;
}

test.each(['open', 'invite'] as const)(
  'with SERVICE_SIGNUP=%s an invite makes a member at its place',
  async (signup) => {
    const app = await createTestApp({ config: { signup } });
    const email = fresh();
    const token = await invite(app, email);
    expect(await answer(await signUp(app, { email: fresh(), invite: token }))).toEqual([403, BAD_INVITE]);
    expect((await signUp(app, { email, invite: token })).status).toBe(202);
    expect(await (await logIn(app, email)).json()).toMatchObject({
      account: app.tenant,
      role: 'editor',
      workspaces: ['shop'],
    });
    expect(await answer(await signUp(app, { email, invite: token }))).toEqual([403, BAD_INVITE]);
  },
);

test('security 28: of five sign-ups at once by one invite one makes a member', async () => {
  const app = await createTestApp();
  const email = fresh();
  const token = await invite(app, email);
  const answers = await Promise.all(Array.from({ length: 5 }, () => signUp(app, { email, invite: token })));
  expect(answers.map(({ status }) => status).sort()).toEqual([202, 403, 403, 403, 403]);
});

test('an invite to an address that has an account is said to be so, and stays open', async () => {
  const app = await createTestApp();
  const person = await createPerson(await createTestApp());
  const token = await invite(app, person.email);
  expect((await signUp(app, { email: person.email, invite: token })).status).toBe(409);
  const rows = await app.deps.db.query('SELECT accepted_at AS at FROM invite WHERE tenant_id = $1', [app.tenant]);
  expect(rows).toEqual([{ at: null }]);
});

test('a sign-up that could not be made is refused with what to change', async () => {
  const app = await createTestApp({ config: open });
  for (const body of [
    { email: fresh() },
    { email: fresh(), account: '!!!' },
    { email: 'no address', account: name() },
    { email: fresh(), account: name(), password: 'eleven char' },
    { email: `${'x'.repeat(250)}@y.test`, account: name() },
  ])
    expect((await signUp(app, body)).status).toBe(422);
});

test('a sign-up that is refused because too many passwords wait uses up no attempt', async () => {
  const app = await createTestApp({ config: open });
  const person = { email: fresh(), account: name(), password: PASSWORD, invite: null, address: someAddress() };
  const count = async () =>
    (await app.deps.db.query<{ points: number }>('SELECT sum(points)::int AS points FROM rate_limit'))[0]?.points ?? 0;
  const before = await count();
  const line = await fillLine();
  await expect(signUpDirectly(app.deps, person)).rejects.toMatchObject({ details: { code: 'overloaded' } });
  expect(await count()).toBe(before);
  await line.done;
  await signUpDirectly(app.deps, person);
  expect(await count()).toBe(before + 2);
});

test('an address signs up five times an hour, a caller twenty, and then 429 says when', async () => {
  const app = await createTestApp({ config: { signup: 'closed', trustProxy: true } });
  const email = fresh();
  const from = (address: string) => ({ 'x-forwarded-for': address });
  for (let n = 0; n < 5; n += 1) expect((await signUp(app, { email }, from(someAddress()))).status).toBe(403);
  const limited = await signUp(app, { email }, from(someAddress()));
  expect([limited.status, Number(limited.headers.get('retry-after')) > 3_500]).toEqual([429, true]);
  const address = someAddress();
  for (let n = 0; n < 20; n += 1) expect((await signUp(app, { email: fresh() }, from(address))).status).toBe(403);
  expect((await signUp(app, { email: fresh() }, from(address))).status).toBe(429);
});
