import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Deps } from '../../src/deps.js';
import { createDb, DatabaseUnavailable } from '../../src/platform/db/index.js';
import { createNet } from '../../src/platform/net/index.js';
import { liveToken, openSecret, putSecret, type SecretValue, writeSecret } from '../../src/secrets/index.js';
import { Refusal } from '../../src/shared/refusal.js';
import { createTenant, createTestDeps } from '../support/create-test-app.js';
import { CLIENT, type OAuthProvider, type ProviderOptions, startOAuthProvider } from '../support/oauth-provider.js';
import { testDatabase } from '../support/postgres.js';
import { silentLog } from '../support/silent-log.js';
import { useTokenProcesses } from '../support/token-processes.js';

const startProcess = useTokenProcesses();
const OPEN = { allowHosts: [{ host: '127.0.0.1', port: null }] };

interface Stage {
  readonly deps: Deps;
  readonly tenant: string;
  readonly provider: OAuthProvider;
  readonly secret: { readonly id: string; readonly name: string };
  /** The time that the deps' clock tells; tests move it. */
  readonly clock: { nowMs: number };
  token(): Promise<string>;
  read(): ReturnType<typeof openSecret>;
}

async function createStage(
  options: ProviderOptions = {},
  shape?: (provider: OAuthProvider) => SecretValue,
): Promise<Stage> {
  const provider = await startOAuthProvider(options);
  const clock = { nowMs: Date.now() };
  const deps = await createTestDeps({ config: OPEN, deps: { clock: { now: () => clock.nowMs } } });
  const { tenant } = await createTenant(deps);
  const place = { tenant, workspace: null, name: 'SHOP' };
  const value = shape?.(provider) ?? recipe(provider);
  const { id } = await deps.db.transaction((tx) => writeSecret(tx, deps.keys, { ...place, value }));
  const secret = { id, name: 'SHOP' };
  return {
    ...{ deps, tenant, provider, secret, clock },
    token: async () => (await liveToken(deps, secret)).token,
    read: () => openSecret(deps.db, deps.keys, place),
  };
}

function recipe(provider: OAuthProvider, refreshToken = provider.refreshToken()) {
  const value = {
    token_url: provider.tokenUrl,
    client_id: CLIENT.id,
    client_secret: CLIENT.secret,
    refresh_token: refreshToken,
  };
  return { shape: 'oauth2' as const, value };
}

async function refusalOf(work: Promise<unknown>): Promise<{ kind: string; code: unknown; message: string }> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Refusal)) throw new Error(`no refusal but ${error}`);
  return { kind: error.kind, code: error.details.code, message: error.message };
}

test('security 20: 20 uses of one expired token, in three processes, make one refresh, and all of them succeed', async () => {
  const { deps, provider, secret, read } = await createStage();
  const processes = await Promise.all([
    startProcess(deps, { id: secret.id, count: 7 }),
    startProcess(deps, { id: secret.id, count: 7 }),
  ]);
  const here = Array.from({ length: 6 }, () => liveToken(deps, secret).then(({ token }) => token));
  const got = (
    await Promise.all([...here.map(async (one) => [await one]), ...processes.map((one) => one.ask())])
  ).flat();
  expect(got).toEqual(Array.from({ length: 20 }, () => 'access-token-2'));
  expect(provider.asked).toHaveLength(1);
  expect(provider.isRevoked()).toBe(false);
  expect(await read()).toMatchObject({ version: 2, status: 'ok', value: { refresh_token: 'refresh-token-2' } });
  for (const token of got) {
    const answer = await deps.net.request({ url: provider.apiUrl, headers: { authorization: `Bearer ${token}` } });
    expect(answer).toMatchObject({ status: 200 });
  }
});

test('security 20: a token is kept until it is near its end, for every process, and then renewed once', async () => {
  const { deps, provider, secret, clock, token } = await createStage({ expiresIn: 3_600 });
  expect(await token()).toBe('access-token-2');
  clock.nowMs += 54 * 60_000;
  const other = { ...deps, db: createDb({ url: testDatabase(), ca: null, poolSize: 2, log: silentLog }) };
  expect((await liveToken(other, secret)).token).toBe('access-token-2');
  expect(provider.asked).toHaveLength(1);
  clock.nowMs += 2 * 60_000;
  expect(await Promise.all([token(), token(), token()])).toEqual(Array.from({ length: 3 }, () => 'access-token-3'));
  expect((await liveToken(other, secret)).token).toBe('access-token-3');
  expect(provider.asked).toHaveLength(2);
  await other.db.close();
});

test('security 20: a rotated refresh token is stored before its access token is used', async () => {
  const { deps, provider, secret, read } = await createStage();
  const seen: unknown[] = [];
  provider.answer(async () => {
    seen.push((await read())?.value);
    return { status: 200, body: { access_token: 'access-x', expires_in: 60, refresh_token: 'refresh-x' } };
  });
  await liveToken(deps, secret);
  expect(seen).toMatchObject([{ refresh_token: 'refresh-token-1' }]);
  expect(await read()).toMatchObject({
    version: 2,
    value: { refresh_token: 'refresh-x', client_secret: CLIENT.secret },
  });
});

test('security 20: a provider that does not rotate leaves the secret as it is', async () => {
  const { token, read } = await createStage({ rotates: false });
  expect(await token()).toBe('access-token-2');
  expect(await read()).toMatchObject({ version: 1, value: { refresh_token: 'refresh-token-1' } });
});

test('security 18: neither the live token nor a rotated refresh token is in the database in clear', async () => {
  const { deps, token, secret } = await createStage();
  await token();
  const rows = await deps.db.query(
    `SELECT encode(t.sealed, 'escape') AS a, encode(s.sealed, 'escape') AS b, t.*, s.*
     FROM secret_token t JOIN secret s ON s.id = t.secret_id WHERE s.id = $1`,
    [secret.id],
  );
  expect(rows).toHaveLength(1);
  const text = JSON.stringify(rows, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  expect(text).not.toMatch(/access-token|refresh-token|client-secret/);
  const bytes = Object.values(rows[0] as object).filter((value): value is Buffer => Buffer.isBuffer(value));
  expect(bytes.length).toBeGreaterThan(0);
  for (const value of bytes) expect(value.toString('latin1')).not.toMatch(/access-token|refresh-token|client-secret/);
});

const outages: readonly (readonly [string, Parameters<OAuthProvider['answer']>[0]])[] = [
  ['answers 503', () => ({ status: 503, body: { error: 'unavailable' } })],
  ['answers 429', () => ({ status: 429, body: {} })],
  ['hangs up', () => 'hang up'],
];
test.each(outages)(
  'security 20: an outage (the provider %s) keeps the old refresh token, is told once to all who wait, and is over when it is over',
  async (_what, reply) => {
    const { provider, token, read } = await createStage();
    provider.answer(reply, 'always');
    const refusals = await Promise.all(Array.from({ length: 20 }, () => refusalOf(token())));
    expect(new Set(refusals.map(({ kind, code }) => `${kind} ${code}`))).toEqual(
      new Set(['unavailable secret/provider-down']),
    );
    expect(provider.asked.length, 'all of them share the one answer').toBeLessThan(5);
    expect(await read()).toMatchObject({ version: 1, status: 'ok', value: { refresh_token: 'refresh-token-1' } });
    provider.answer(() => ({
      status: 200,
      body: { access_token: 'access-again', token_type: 'bearer', expires_in: 60 },
    }));
    expect(await token()).toBe('access-again');
  },
);

test('security 20: in an outage the old token serves to its end', async () => {
  const { provider, token, clock } = await createStage({ expiresIn: 600 });
  await token();
  provider.answer(() => ({ status: 503, body: {} }), 'always');
  clock.nowMs += 590_000;
  expect(await token()).toBe('access-token-2');
  clock.nowMs += 10_000;
  expect(await refusalOf(token())).toMatchObject({ code: 'secret/provider-down' });
});

test('security 20: invalid_grant marks "reconnect", deletes nothing and asks no more, until somebody stores it anew', async () => {
  const { deps, tenant, provider, token, read } = await createStage();
  provider.answer(() => ({
    status: 400,
    body: { error: 'invalid_grant', error_description: `bad ${CLIENT.secret}\n\u202e` },
  }));
  const refused = await Promise.all([refusalOf(token()), refusalOf(token())]);
  for (const one of refused) {
    expect(one).toMatchObject({ kind: 'conflict', code: 'secret/reconnect' });
    expect(one.message).toContain('the connection SHOP must be made again: ');
    expect(one.message, 'what the provider repeats is hidden').not.toContain(CLIENT.secret);
  }
  // The other one may come when the refusal is already stored, without its text.
  const [why] = refused.filter(({ message }) => message.includes('127.0.0.1'));
  expect(why?.message).toContain('invalid_grant: bad [secret SHOP])');
  expect(await read()).toMatchObject({ status: 'reconnect', version: 1, value: { refresh_token: 'refresh-token-1' } });
  expect(await refusalOf(token())).toMatchObject({ code: 'secret/reconnect' });
  expect(provider.asked).toHaveLength(1);
  const told = await deps.db.query<{ target: string; detail: unknown }>(
    "SELECT target, detail FROM audit_entry WHERE tenant_id = $1 AND action = 'secret.reconnect'",
    [tenant],
  );
  expect(told).toEqual([{ target: 'SHOP', detail: { reason: expect.stringContaining('invalid_grant') } }]);
  expect(JSON.stringify(told)).not.toContain(CLIENT.secret);

  await putAnew(deps, tenant, provider);
  expect(await token()).toBe('access-token-2');
  expect(await read()).toMatchObject({ status: 'ok', version: 3 });
});

async function putAnew(deps: Deps, tenant: string, provider: OAuthProvider): Promise<void> {
  const actor = { kind: 'system', id: 'test', label: 'test' } as const;
  const caller = {
    tenant,
    role: 'admin',
    workspaces: null,
    actor,
    person: null,
    signedIn: false,
    address: null,
  } as const;
  await putSecret(deps, caller, { name: 'SHOP', oauth2: recipe(provider).value });
}

test.each([
  [{ status: 200, body: { error: 'bad_refresh_token' } }, 'secret/reconnect'],
  [{ status: 200, body: { ok: false, error: 'invalid_refresh_token' } }, 'secret/reconnect'],
  [{ status: 400, body: { status: 'BAD_REFRESH_TOKEN', message: 'no' } }, 'secret/reconnect'],
  [{ status: 401, body: { error: 'invalid_client' } }, 'secret/no-token'],
  [{ status: 400, body: { error: 'unauthorized_client' } }, 'secret/no-token'],
  [{ status: 404, body: {} }, 'secret/no-token'],
  [{ status: 302, body: {} }, 'secret/no-token'],
  [{ status: 200, body: { hello: 'there' } }, 'secret/no-token'],
  [{ status: 200, body: [] }, 'secret/no-token'],
])('what a token endpoint answers is told for what it is: %j', async (reply, code) => {
  const { provider, token, read } = await createStage();
  provider.answer(() => reply, 'always');
  expect(await refusalOf(token())).toMatchObject({ code });
  expect(await read()).toMatchObject({ status: code === 'secret/reconnect' ? 'reconnect' : 'ok', version: 1 });
});

test('a token of another kind than bearer, a number as text, and an identity beside it are no fault', async () => {
  const { deps, provider, secret, clock } = await createStage();
  provider.answer(() => ({
    status: 200,
    body: {
      access_token: 'access-bot',
      token_type: 'bot',
      expires_in: '120',
      id_token: 'no.jwt',
      scope: ['a'],
      refresh_token: null,
    },
  }));
  const { token, expiresAt } = await liveToken(deps, secret);
  expect([token, expiresAt.getTime() - clock.nowMs]).toEqual(['access-bot', 120_000]);
});

test('a provider that takes the client by Basic alone is asked that way', async () => {
  const { provider, token } = await createStage({ auth: 'basic' });
  expect(await token()).toBe('access-token-2');
  expect(provider.asked.map(({ client_secret }) => client_secret)).toEqual([CLIENT.secret, undefined]);
});

test('security 20: a database that is away for a moment costs no rotated refresh token', async () => {
  const { deps, secret, read, provider } = await createStage();
  let away = 2;
  const transaction: Deps['db']['transaction'] = (work) => {
    if (away === 0) return deps.db.transaction(work);
    away -= 1;
    return Promise.reject(new DatabaseUnavailable(null));
  };
  const db = new Proxy(deps.db, {
    get: (target, name) => {
      if (name === 'transaction') return transaction;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  expect((await liveToken({ ...deps, db }, secret)).token).toBe('access-token-2');
  expect([away, provider.asked.length]).toEqual([0, 1]);
  expect(await read()).toMatchObject({ value: { refresh_token: 'refresh-token-2' } });
});

test('a value that is stored while it is exchanged wins: the answer for the old one is dropped', async () => {
  const { deps, tenant, provider, token, read } = await createStage();
  provider.answer(async () => {
    await putAnew(deps, tenant, provider);
    return { status: 200, body: { access_token: 'access-old', expires_in: 60, refresh_token: 'refresh-old' } };
  });
  expect(await token()).toBe('access-token-2');
  expect(await read()).toMatchObject({ value: { refresh_token: 'refresh-token-2' }, status: 'ok' });
});

test('a refusal for a value that was replaced meanwhile marks nothing', async () => {
  const { deps, tenant, provider, token, read } = await createStage();
  provider.answer(async () => {
    await putAnew(deps, tenant, provider);
    return { status: 400, body: { error: 'invalid_grant' } };
  });
  await token().catch(() => undefined);
  expect(await read()).toMatchObject({ status: 'ok', version: 2 });
  expect(await token()).toBe('access-token-2');
});

test('a secret that is deleted takes its token along', async () => {
  const { deps, token, secret } = await createStage();
  await token();
  await deps.db.query('DELETE FROM secret WHERE id = $1', [secret.id]);
  expect(await deps.db.query('SELECT 1 FROM secret_token WHERE secret_id = $1', [secret.id])).toEqual([]);
  expect(await refusalOf(token())).toMatchObject({ kind: 'not_found' });
});

test('security 21: a token endpoint on a private address is not asked, nor stored', async () => {
  const { deps, tenant, provider, secret, token } = await createStage();
  const shut: Deps = { ...deps, net: createNet({ config: { allowHosts: [], version: '1' } }) };
  expect(await refusalOf(liveToken(shut, secret))).toMatchObject({
    code: 'secret/no-token',
    message: expect.stringContaining('SERVICE_ALLOW_HOSTS'),
  });
  expect(provider.asked).toEqual([]);
  expect(await refusalOf(putAnew(shut, tenant, provider))).toMatchObject({ code: 'secret/bad-value' });
  expect(await token()).toBe('access-token-2');
});

const key = generateKeyPairSync('rsa', { modulusLength: 2_048 });
function serviceAccount({ tokenUrl }: OAuthProvider): SecretValue {
  const private_key = key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const scopes = ['https://a.example/read', 'b'];
  return {
    shape: 'service_account',
    value: { client_email: 'bot@p.example', private_key, token_uri: tokenUrl, scopes },
  };
}

test('security 20: a service account signs for one token, which all its uses share', async () => {
  const { provider, token, read } = await createStage({ publicKey: key.publicKey, rotates: false }, serviceAccount);
  expect(new Set(await Promise.all(Array.from({ length: 20 }, () => token())))).toEqual(new Set(['access-token-2']));
  expect(provider.asked).toHaveLength(1);
  expect(Object.keys(provider.asked[0] ?? {}).sort()).toEqual(['assertion', 'grant_type']);
  const claims = JSON.parse(Buffer.from(provider.asked[0]?.assertion?.split('.')[1] ?? '', 'base64url').toString());
  expect(claims).toMatchObject({ iss: 'bot@p.example', aud: provider.tokenUrl, scope: 'https://a.example/read b' });
  expect(claims.exp - claims.iat).toBe(3_600);
  expect(await read()).toMatchObject({ version: 1, status: 'ok' });
});

test('a service account that is refused says why and is tried again: it has nothing that could be spent', async () => {
  const other = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const { provider, token, read } = await createStage({ publicKey: other.publicKey }, serviceAccount);
  expect(await refusalOf(token())).toMatchObject({
    code: 'secret/no-token',
    message: expect.stringContaining('invalid_grant'),
  });
  await refusalOf(token());
  expect(provider.asked).toHaveLength(2);
  expect(await read()).toMatchObject({ status: 'ok' });
});

test('security 20: a process that is killed between the provider’s answer and its record leaves what can be told', async () => {
  const { deps, provider, secret, token, read } = await createStage();
  const doomed = await startProcess(deps, { id: secret.id, count: 1, failpoint: 'refresh-answered' });
  expect(await doomed.ask()).toBeNull();
  expect(provider.asked).toHaveLength(1);
  expect(await read(), 'the answer is lost, the old token is kept').toMatchObject({
    version: 1,
    status: 'ok',
    value: { refresh_token: 'refresh-token-1' },
  });
  // Its lease ends by itself; here it is made to have ended.
  await deps.db.query("UPDATE secret_token SET lease_until = now() - interval '1 second' WHERE secret_id = $1", [
    secret.id,
  ]);
  const refused = await refusalOf(token());
  expect(refused.code).toBe('secret/reconnect');
  expect(refused.message).toContain('an earlier exchange was interrupted before its answer was stored');
  expect(provider.isRevoked(), 'this provider takes a second use for a theft').toBe(true);
  expect(await read()).toMatchObject({ status: 'reconnect', value: { refresh_token: 'refresh-token-1' } });
});

test('security 20: where the provider does not rotate, such a death costs one more exchange and nothing else', async () => {
  const { deps, provider, secret, token, read } = await createStage({ rotates: false });
  const doomed = await startProcess(deps, { id: secret.id, count: 1, failpoint: 'refresh-answered' });
  expect(await doomed.ask()).toBeNull();
  await deps.db.query("UPDATE secret_token SET lease_until = now() - interval '1 second' WHERE secret_id = $1", [
    secret.id,
  ]);
  expect(await Promise.all([token(), token()])).toEqual(['access-token-3', 'access-token-3']);
  expect(provider.asked).toHaveLength(2);
  expect(await read()).toMatchObject({ status: 'ok' });
});
