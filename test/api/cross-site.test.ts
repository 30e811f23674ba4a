import { expect, test } from 'vitest';
import { createTestApp } from '../support/create-test-app.js';
import { createPerson, logIn, signIn } from '../support/sessions.js';

const JSON_BODY = { timezone: 'UTC' };
const FOREIGN = [
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { origin: 'https://box.example.com.evil.example' },
  { origin: 'http://box.example.com' },
  { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'none' },
  { origin: 'null', 'sec-fetch-site': 'cross-site' },
];
const OURS = [
  { origin: 'https://box.example.com' },
  { 'sec-fetch-site': 'same-origin' },
  { origin: 'null', 'sec-fetch-site': 'same-origin' },
];

test('security 26: a session’s cookie writes from our own origin only, JSON among what is refused', async () => {
  const app = await createTestApp({ config: { publicUrl: 'https://box.example.com' } });
  const { cookie } = await signIn(app, await createPerson(app, 'viewer'));
  const send = async (headers: Record<string, string>, method = 'POST', path = '/api/auth/timezone') =>
    (
      await app.request(path, {
        as: null,
        method,
        headers: { cookie, 'content-type': 'application/json', ...headers },
        ...(method === 'GET' ? {} : { body: JSON.stringify(JSON_BODY) }),
      })
    ).status;
  for (const headers of [...FOREIGN, {}]) expect([headers, await send(headers)]).toEqual([headers, 403]);
  for (const headers of FOREIGN) {
    expect(await send({ ...headers, 'content-type': 'text/plain' })).toBe(403);
    expect(await send({ ...headers, 'content-type': 'application/x-www-form-urlencoded' })).toBe(403);
    expect(await send(headers, 'GET', '/api/me')).toBe(200);
  }
  for (const headers of OURS) expect([headers, await send(headers)]).toEqual([headers, 200]);
});

test('security 26: in development a real session is held to its origin all the same', async () => {
  const app = await createTestApp({ config: { devNoAuth: true } });
  const { cookie } = await signIn(app, await createPerson(app, 'viewer'));
  const headers = { cookie, 'content-type': 'application/json' };
  const body = JSON.stringify(JSON_BODY);
  expect((await app.request('/api/auth/timezone', { as: null, method: 'POST', headers, body })).status).toBe(403);
});

test('security 26: no other page signs a person in or up', async () => {
  const app = await createTestApp({ config: { publicUrl: 'https://box.example.com', signup: 'open' } });
  const { email } = await createPerson(app);
  for (const headers of FOREIGN) {
    const login = await logIn(app, email, { headers });
    expect([login.status, login.headers.get('set-cookie')]).toEqual([403, null]);
    expect(
      (await app.post('/api/auth/signup', { email, password: 'x'.repeat(12) }, { as: null, headers })).status,
    ).toBe(403);
    const form = new URLSearchParams({ email, password: 'x' });
    expect((await app.request('/sign-in', { as: null, method: 'POST', headers, body: form })).status).toBe(403);
  }
  for (const headers of [...OURS, {}]) expect((await logIn(app, email, { headers })).status).toBe(200);
});
