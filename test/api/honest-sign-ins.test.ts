import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { createApp } from '../../src/api/app.js';
import { newId } from '../../src/shared/ids.js';
import { createTestApp, type TestApp } from '../support/create-test-app.js';
import { createPerson, logIn, PASSWORD, signIn, someAddress } from '../support/sessions.js';

const unknown = () => `nobody-${newId()}@nowhere.test`;
const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });

async function statuses(times: number, call: () => Promise<Response>): Promise<number[]> {
  const all: number[] = [];
  for (let n = 0; n < times; n += 1) all.push((await call()).status);
  return all;
}

/** A sign-in over a connection from this peer. */
function logInFrom({ deps }: TestApp, peer: string, email: string): Promise<Response> {
  const body = Buffer.from(JSON.stringify({ email, password: 'not it at all' }));
  const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
  const init = { method: 'POST', headers, body };
  const incoming = Object.assign(Readable.from([body]), { socket: { remoteAddress: peer } });
  return Promise.resolve(createApp(deps).request('/api/auth/login', init, { incoming }));
}

test('a sign-in that succeeds uses up no attempt, of the account or of the address', async () => {
  const app = await createTestApp({ config: { trustProxy: true } });
  const [person, address] = [await createPerson(app), from(someAddress())];
  expect(await statuses(12, () => logIn(app, person.email, address))).toEqual(Array(12).fill(200));
  expect(await statuses(10, () => logIn(app, unknown(), address))).toEqual(Array(10).fill(401));
});

test('security 25: a sign-in that succeeds gives back its own attempt, and none of those that failed', async () => {
  const app = await createTestApp({ config: { trustProxy: true } });
  const { email } = await createPerson(app);
  const address = from(someAddress());
  const wrong = () => logIn(app, email, { ...address, password: 'not it at all' });
  expect(await statuses(9, wrong)).toEqual(Array(9).fill(401));
  expect(await statuses(3, () => logIn(app, email, address))).toEqual(Array(3).fill(200));
  expect(await statuses(3, wrong)).toEqual([401, 429, 429]);
  expect((await logIn(app, email, address)).status).toBe(429);
});

test('security 25: without a trusted proxy nobody is shut out by what others behind the same one do', async () => {
  const behind = await createTestApp({ config: { trustProxy: false } });
  const peer = someAddress();
  expect(await statuses(12, () => logInFrom(behind, peer, unknown()))).toEqual(Array(12).fill(401));
});

test('a password that is changed uses up no attempt to sign in', async () => {
  const app = await createTestApp();
  const { call } = await signIn(app, await createPerson(app));
  let current = PASSWORD;
  const change = () => {
    const next = `another long one ${newId()}`;
    const answer = call('POST', '/api/auth/password', { current, next });
    current = next;
    return answer;
  };
  expect(await statuses(11, change)).toEqual(Array(11).fill(200));
});
