import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Crew, startCrew } from '../support/crew.js';
import { type FakeCall, type FakeProvider, startFakeProvider } from '../support/fake-provider.js';
import { flow } from '../support/flows.js';
import { CLIENT, type OAuthProvider, startOAuthProvider } from '../support/oauth-provider.js';

const STEPS = 20;

let model: FakeProvider;
let crew: Crew;
let workspace: string;
beforeAll(async () => {
  model = await startFakeProvider(useTheToken);
  crew = await startCrew(model, { SERVICE_ALLOW_HOSTS: '127.0.0.1' });
  workspace = await crew.api.workspace({
    'agents/worker.md': '---\nname: worker\ndescription: Works.\nsecrets: [SHOP]\n---\n\nYou work.\n',
    'flows/use.md': flow('## Use @worker\n\nUse it.'),
  });
});
afterAll(() => crew.close());

/** A hash tells which token the program had, and passes where the token itself is hidden. */
const HASH_IT = { name: 'Bash', args: { command: 'printf %s "$SHOP" | sha256sum | cut -c 1-64' } };
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');

/** Runs the program until it has said something of its own; then repeats what it said. */
function useTheToken({ body }: FakeCall) {
  const last = body.messages.at(-1);
  const said = last?.role === 'tool' ? String(last.content).trim() : '';
  return said === '' || said.startsWith('interrupted') ? { calls: [HASH_IT] } : { text: said };
}

async function put(provider: OAuthProvider, refreshToken = provider.refreshToken()): Promise<void> {
  const oauth2 = {
    token_url: provider.tokenUrl,
    client_id: CLIENT.id,
    client_secret: CLIENT.secret,
    refresh_token: refreshToken,
  };
  const response = await crew.api.request('/api/secrets', {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'SHOP', workspace, oauth2 }),
  });
  expect(response.status, await response.text()).toBe(200);
}

/** The results of so many runs that were started at once. */
async function useAtOnce(count: number): Promise<(string | null | undefined)[]> {
  const ids = await Promise.all(Array.from({ length: count }, () => crew.api.start(workspace, 'use')));
  return Promise.all(ids.map(resultOf));
}

async function resultOf(id: string): Promise<string | null | undefined> {
  const ended = async () => (await crew.api.run(workspace, id)).finishedAt;
  await expect.poll(ended, { interval: 200 }).not.toBeNull();
  const run = await crew.api.run(workspace, id);
  expect(run.error).toBeNull();
  return run.steps[0]?.result;
}

async function statusOfSecret(): Promise<unknown> {
  const { secrets } = (await (await crew.api.request('/api/secrets')).json()) as {
    secrets: { name: string; status: string }[];
  };
  return secrets.find(({ name }) => name === 'SHOP')?.status;
}

test(`security 20: ${STEPS} parallel steps with one expired token, on two workers, make one refresh at a provider that rotates and punishes reuse, and all succeed`, async () => {
  const provider = await startOAuthProvider({ delayMs: 1_500 });
  await put(provider);
  const workers = await Promise.all([crew.startWorker(), crew.startWorker()]);
  expect(await useAtOnce(STEPS)).toEqual(Array.from({ length: STEPS }, () => hashOf('access-token-2')));
  expect([provider.asked.length, provider.isRevoked()]).toEqual([1, false]);

  await crew.api.db.query(
    "UPDATE secret_token SET expires_at = now() - interval '1 minute', renew_at = now() - interval '1 hour'",
  );
  expect(await useAtOnce(STEPS)).toEqual(Array.from({ length: STEPS }, () => hashOf('access-token-3')));
  expect([provider.asked.length, provider.isRevoked()]).toEqual([2, false]);
  expect(provider.asked.map(({ refresh_token }) => refresh_token)).toEqual(['refresh-token-1', 'refresh-token-2']);
  expect(await statusOfSecret()).toBe('ok');
  await Promise.all(workers.map((worker) => worker.end('SIGTERM')));
});

test('security 20: a worker that dies between the provider’s answer and its record leaves a run that goes on, a secret that says "reconnect" and why; a new connection mends it', async () => {
  const provider = await startOAuthProvider();
  await put(provider);
  const doomed = await crew.startWorker({ SERVICE_FAILPOINT: 'refresh-answered' });
  const id = await crew.api.start(workspace, 'use');
  await doomed.exited;
  expect([provider.asked.length, await statusOfSecret()]).toEqual([1, 'ok']);

  const worker = await crew.startWorker();
  const told = await resultOf(id);
  expect(told).toContain('the connection SHOP must be made again');
  expect(told).toContain('an earlier exchange was interrupted before its answer was stored');
  expect(told).not.toMatch(/refresh-token|client-secret/);
  expect([provider.isRevoked(), await statusOfSecret()]).toEqual([true, 'reconnect']);

  const again = await startOAuthProvider();
  await put(again);
  expect(await statusOfSecret()).toBe('ok');
  expect(await useAtOnce(1)).toEqual([hashOf('access-token-2')]);
  await worker.end('SIGTERM');
});

const cookiesOf = (response: Response) =>
  response.headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ');

test('a person signs in, connects a service through their browser, and the next run uses the token that came along', async () => {
  const provider = await startOAuthProvider();
  const { email, password } = JSON.parse(await readFile(join(crew.api.dataDir, 'bootstrap.json'), 'utf8'));
  const json = { 'content-type': 'application/json', origin: crew.api.url };
  const post = (path: string, body: object, headers = {}) =>
    fetch(`${crew.api.url}${path}`, { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) });
  const session = cookiesOf(await post('/api/auth/login', { email, password }));
  const config = { authorize_url: provider.authorizeUrl, token_url: provider.tokenUrl, client_secret: CLIENT.secret };
  const client = await post('/api/oauth/clients', { name: 'shop', client: CLIENT.id, config }, { cookie: session });
  expect(client.status, await client.clone().text()).toBe(201);
  const { redirectUri } = (await client.json()) as { redirectUri: string };

  const started = await post('/api/oauth/start', { client: 'shop', secret: 'SHOP', workspace }, { cookie: session });
  const { url } = (await started.json()) as { url: string };
  const { code, state, redirectUri: asked } = provider.agree(url);
  expect(asked).toBe(redirectUri);
  const page = await fetch(`${redirectUri}?${new URLSearchParams({ code, state })}`, {
    headers: { cookie: `${session}; ${cookiesOf(started)}`, accept: 'text/html', 'sec-fetch-site': 'cross-site' },
  });
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<h1>Connected</h1>')]);

  const worker = await crew.startWorker();
  expect(await useAtOnce(3)).toEqual(Array.from({ length: 3 }, () => hashOf('access-token-2')));
  expect(provider.asked.map(({ grant_type }) => grant_type)).toEqual(['authorization_code']);
  for (const text of [code, state, CLIENT.secret, 'refresh-token-2']) expect(crew.api.stdout()).not.toContain(text);
  await worker.end('SIGTERM');
});
