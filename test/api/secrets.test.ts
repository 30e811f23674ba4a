import { generateKeyPairSync } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { secretRoutes } from '../../src/api/routes/secrets.js';
import { workspaceRoutes } from '../../src/api/routes/workspaces.js';
import {
  CannotOpen,
  hiddenTexts,
  lockSecret,
  markReconnect,
  openEach,
  openSecret,
  replaceSecret,
} from '../../src/secrets/index.js';
import { createKey, createTestApp } from '../support/create-test-app.js';
import { secretSamples } from '../support/secret-samples.js';
import { bodyOf, createWorkspaceApp, fileList, type WorkspaceApp } from '../support/workspace-app.js';

const CANARY = 'canary-4711-pelican';
const samples = secretSamples(CANARY);
const shapes = Object.entries(samples);

let app: WorkspaceApp;
let ws: { readonly name: string; readonly id: string };

beforeAll(async () => {
  app = await createWorkspaceApp({ routes: [...workspaceRoutes, ...secretRoutes] });
  ws = await app.workspace();
});

const put = (body: object, as?: string) => app.put('/api/secrets', body, as === undefined ? {} : { as });
const at = (name: string, workspace: string | null = ws.id) => ({ tenant: app.tenant, workspace, name });
const open = (name: string, workspace: string | null = ws.id) =>
  openSecret(app.deps.db, app.deps.keys, at(name, workspace));

describe('the six shapes', () => {
  test.each(shapes)(
    'a secret of shape %s is stored, opens as it was given, and no read tells it',
    async (shape, value) => {
      const name = `SHAPE_${shape.toUpperCase()}`;
      const stored = await put({ name, [shape]: value });
      expect([stored.status, await bodyOf(stored)]).toMatchObject([
        200,
        { ok: true, name, workspace: null, shape, created: true },
      ]);
      expect(await open(name)).toMatchObject({ shape, value, store: 'account', version: 1, status: 'ok' });
      const listed = await (await app.get('/api/secrets')).text();
      expect(JSON.parse(listed).secrets).toContainEqual(
        expect.objectContaining({ name, shape, workspace: null, status: 'ok', usedBy: [] }),
      );
      expect(listed).not.toContain(CANARY);
      expect(listed).not.toContain('PRIVATE KEY');
    },
  );

  test('security 18: what must appear nowhere is told of every shape, addresses and names are not', () => {
    const hidden = (shape: keyof typeof samples) => hiddenTexts({ shape, value: samples[shape] } as never);
    expect(hidden('value')).toEqual([CANARY]);
    expect(hidden('file')).toEqual([samples.file.content, `of-the-file-${CANARY}`]);
    expect(hidden('oauth2')).toEqual([`${CANARY}-client`, `${CANARY}-refresh`]);
    expect(hidden('service_account')).toEqual([samples.service_account.private_key]);
    expect(hidden('ssh')).toEqual([samples.ssh.private_key]);
    expect(hidden('api')).toEqual([`${CANARY}-key`]);
  });

  test('security 18: nothing of a secret is readable in the database', async () => {
    await put({ name: 'AT_REST', value: CANARY });
    const tables = await app.deps.db.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
    );
    expect(tables.map(({ name }) => name)).toContain('secret');
    for (const { name } of tables) {
      const rows = await app.deps.db.query<{ row: string }>(
        `SELECT t::text AS row FROM "${name}" t WHERE strpos(t::text, $1) > 0 OR strpos(t::text, $2) > 0`,
        [CANARY, Buffer.from(CANARY).toString('hex')],
      );
      expect(rows, name).toEqual([]);
    }
  });
});

describe('vaults', () => {
  test('the workspace’s vault comes before the account’s, and without it the account’s holds', async () => {
    await put({ name: 'NEAREST', value: 'from-the-account' });
    expect(await open('NEAREST')).toMatchObject({ value: 'from-the-account', store: 'account' });
    expect((await put({ name: 'NEAREST', workspace: ws.name, value: 'from-the-workspace' })).status).toBe(200);
    expect(await open('NEAREST')).toMatchObject({ value: 'from-the-workspace', store: 'workspace' });
    expect(await open('NEAREST', null)).toMatchObject({ value: 'from-the-account' });
    const other = await app.workspace();
    expect(await open('NEAREST', other.id)).toMatchObject({ value: 'from-the-account' });
    expect((await app.delete(`/api/secrets?name=NEAREST&workspace=${ws.name}`)).status).toBe(200);
    expect(await open('NEAREST')).toMatchObject({ value: 'from-the-account' });
  });

  test('a preview reads the vault of the workspace that it previews', async () => {
    const preview = await app.workspace();
    await app.deps.db.query('UPDATE workspace SET preview_of = $2 WHERE id = $1', [preview.id, ws.id]);
    await put({ name: 'OF_SOURCE', workspace: ws.name, value: 'of-the-source' });
    expect(await open('OF_SOURCE', preview.id)).toMatchObject({ value: 'of-the-source', store: 'workspace' });
  });

  test('several are opened at once, and one that no vault holds is absent', async () => {
    await put({ name: 'MANY_A', value: 'one-of-many' });
    await put({ name: 'MANY_B', workspace: ws.name, value: 'two-of-many' });
    const names = ['MANY_A', 'MANY_B', 'MANY_C'];
    const found = await openEach(app.deps.db, app.deps.keys, { tenant: app.tenant, workspace: ws.id, names });
    expect([...found].map(([name, secret]) => [name, secret instanceof CannotOpen ? secret : secret.store])).toEqual([
      ['MANY_A', 'account'],
      ['MANY_B', 'workspace'],
    ]);
  });

  test('another account sees and opens none of it, under the same names', async () => {
    await put({ name: 'OURS', value: 'only-of-this-account' });
    const other = await createTestApp({ routes: secretRoutes });
    expect(await bodyOf(other.get('/api/secrets'))).toEqual({ secrets: [], next: null });
    expect(
      await openSecret(app.deps.db, app.deps.keys, { tenant: other.tenant, workspace: ws.id, name: 'OURS' }),
    ).toBeNull();
    expect((await other.delete('/api/secrets?name=OURS')).status).toBe(404);
    expect((await other.put('/api/secrets', { name: 'OURS', workspace: ws.name, value: 'stolen-place' })).status).toBe(
      404,
    );
  });

  test('who is narrowed to workspaces sees the account’s and theirs, and writes theirs only', async () => {
    const theirs = await app.workspace();
    const key = await createKey(app.deps, {
      tenant: app.tenant,
      owner: app.owner,
      role: 'admin',
      workspaces: [theirs.name],
    });
    await put({ name: 'NARROW', value: 'of-the-account' });
    await put({ name: 'NARROW', workspace: ws.name, value: 'of-another-workspace' });
    expect((await put({ name: 'NARROW', workspace: theirs.name, value: 'of-their-workspace' }, key)).status).toBe(200);
    const { secrets } = await bodyOf(app.get('/api/secrets', { as: key }));
    const seen = secrets.filter((one: { name: string }) => one.name === 'NARROW');
    expect(seen.map((one: { workspace: string }) => one.workspace)).toEqual([null, theirs.name]);
    expect((await put({ name: 'NARROW', value: 'of-the-account' }, key)).status).toBe(403);
    expect((await put({ name: 'NARROW', workspace: ws.name, value: 'of-another-workspace' }, key)).status).toBe(404);
    expect((await app.delete('/api/secrets?name=NARROW', { as: key })).status).toBe(403);
    expect((await app.get(`/api/secrets?workspace=${ws.name}`, { as: key })).status).toBe(404);
    const only = await bodyOf(app.get(`/api/secrets?workspace=${theirs.name}`, { as: key }));
    expect(only.secrets).toEqual([expect.objectContaining({ name: 'NARROW', workspace: theirs.name })]);
  });

  test('a misspelt workspace does not delete the secret of the account', async () => {
    const { name } = await app.workspace();
    await put({ name: 'SPELT', value: 'one-value' });
    const response = await app.delete(`/api/secrets?name=SPELT&workpsace=${name}`);
    expect([response.status, (await bodyOf(response)).error]).toEqual([
      422,
      'query.workpsace: unknown key; did you mean "workspace"?',
    ]);
    expect((await app.delete('/api/secrets?name=SPELT')).status).toBe(200);
  });

  test('a deleted workspace takes its vault along, and one of its name begins with an empty one', async () => {
    const gone = await app.workspace();
    await put({ name: 'GONE', workspace: gone.name, value: 'gone-with-it' });
    expect((await app.delete(`/api/workspaces/${gone.name}`)).status).toBe(200);
    expect(await app.deps.db.query('SELECT 1 FROM secret WHERE workspace_id = $1', [gone.id])).toEqual([]);
    expect((await app.post('/api/workspaces', { name: gone.name })).status).toBe(201);
    expect(await bodyOf(app.get(`/api/secrets?workspace=${gone.name}`))).toEqual({ secrets: [], next: null });
  });
});

test('writing asks for an admin, reading names for a viewer', async () => {
  for (const role of ['viewer', 'editor'] as const) {
    const as = await createKey(app.deps, { tenant: app.tenant, owner: app.owner, role });
    expect((await put({ name: 'BY_ROLE', value: 'never-stored' }, as)).status).toBe(403);
    expect((await app.delete('/api/secrets?name=BY_ROLE', { as })).status).toBe(403);
    expect((await app.get('/api/secrets', { as })).status).toBe(200);
    expect((await app.delete('/api/secrets?name=BY_ROLE&workspace=no-such-one', { as })).status).toBe(404);
  }
  expect(await open('BY_ROLE')).toBeNull();
});

test('who stored and deleted what is in the audit, without the value', async () => {
  await put({ name: 'AUDITED', workspace: ws.name, value: CANARY });
  await app.delete(`/api/secrets?name=AUDITED&workspace=${ws.name}`);
  const rows = await app.deps.db.query(
    `SELECT action, target, detail FROM audit_entry WHERE tenant_id = $1 AND target = 'AUDITED' ORDER BY id`,
    [app.tenant],
  );
  expect(rows).toEqual([
    { action: 'secret.put', target: 'AUDITED', detail: { workspace: ws.name, shape: 'value' } },
    { action: 'secret.delete', target: 'AUDITED', detail: { workspace: ws.name } },
  ]);
});

test('forty who store one name at once leave one secret, whole, and its version counts them', async () => {
  const values = Array.from({ length: 40 }, (_, index) => `of-forty-${index}`);
  const answers = await Promise.all(values.map((value) => put({ name: 'RIVALS', value })));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  const created = await Promise.all(answers.map((answer) => bodyOf(answer)));
  expect(created.filter((answer) => answer.created)).toHaveLength(1);
  const secret = await open('RIVALS');
  expect(secret?.version).toBe(40);
  expect(values).toContain(secret?.value);
});

test('security 18: bytes that were put in another place or under another version do not open', async () => {
  await put({ name: 'PLACE_A', value: 'stays-in-its-place' });
  await put({ name: 'PLACE_B', value: 'stays-in-its-place' });
  const move = (from: string, to: string) =>
    app.deps.db.query(
      `UPDATE secret t SET sealed = s.sealed, wrapped_key = s.wrapped_key FROM secret s
       WHERE t.tenant_id = $1 AND s.tenant_id = $1 AND s.name = $2 AND t.name = $3`,
      [app.tenant, from, to],
    );
  await move('PLACE_A', 'PLACE_B');
  await expect(open('PLACE_B')).rejects.toThrow(CannotOpen);
  await expect(open('PLACE_B')).rejects.toThrow('the secret PLACE_B cannot be decrypted');
  await app.deps.db.query(`UPDATE secret SET version = 2 WHERE tenant_id = $1 AND name = 'PLACE_A'`, [app.tenant]);
  await expect(open('PLACE_A')).rejects.toThrow('the secret PLACE_A cannot be decrypted');
  await app.deps.db.query(
    `UPDATE secret SET version = 1, workspace_id = $2 WHERE tenant_id = $1 AND name = 'PLACE_A'`,
    [app.tenant, ws.id],
  );
  await expect(open('PLACE_A')).rejects.toThrow('the secret PLACE_A cannot be decrypted');
  await put({ name: 'PLACE_B', value: 'stored-once-more' });
  expect(await open('PLACE_B')).toMatchObject({ value: 'stored-once-more', version: 2 });
});

test('what the service learns replaces only the version that it learned it of', async () => {
  await put({ name: 'ROTATED', oauth2: samples.oauth2 });
  const before = await open('ROTATED');
  if (before?.shape !== 'oauth2') throw new Error('not stored');
  const { db, keys } = app.deps;
  const value = { shape: 'oauth2', value: { ...before.value, refresh_token: 'the-next-refresh-token' } } as const;
  expect(await db.transaction((tx) => replaceSecret(tx, keys, { id: before.id, version: 1, value }))).toBe(2);
  expect(await open('ROTATED')).toMatchObject({ version: 2, value: { refresh_token: 'the-next-refresh-token' } });
  expect(await db.transaction((tx) => replaceSecret(tx, keys, { id: before.id, version: 1, value }))).toBeNull();
  await markReconnect(db, { id: before.id, version: 1 });
  expect(await open('ROTATED')).toMatchObject({ status: 'ok' });
  await markReconnect(db, { id: before.id, version: 2 });
  expect(await open('ROTATED')).toMatchObject({ status: 'reconnect' });
  const { secrets } = await bodyOf(app.get('/api/secrets'));
  expect(secrets).toContainEqual(expect.objectContaining({ name: 'ROTATED', status: 'reconnect' }));
  await put({ name: 'ROTATED', oauth2: samples.oauth2 });
  expect(await db.transaction((tx) => lockSecret(tx, keys, before.id))).toMatchObject({ version: 3, status: 'ok' });
  expect(await db.transaction((tx) => lockSecret(tx, keys, 'no-such-id'))).toBeNull();
});

test('usedBy names the files of live revisions that get a secret, and its nearest only', async () => {
  const user = await app.workspace({
    'AGENTS.md': '# Shop\n',
    'agents/clerk.md': '---\ndescription: Sells.\ntools: [shop]\nsecrets: [SHOP_TOKEN]\n---\n\nYou sell.\n',
    'tools/shop.md':
      '---\ndescription: The shop.\nbase: https://shop.example/\nheaders: { Authorization: "Bearer ${SHOP_TOKEN}" }\n---\n',
    'flows/sell.md':
      '---\ndescription: Sells.\nsecrets: [FLOW_TOKEN]\n---\n\n## Sell @clerk\n\n- secrets: [STEP_TOKEN]\n\nSell.\n',
  });
  for (const name of ['SHOP_TOKEN', 'FLOW_TOKEN', 'STEP_TOKEN']) await put({ name, value: 'used-by-a-file' });
  const usedBy = async (name: string, workspace: string | null) => {
    const { secrets } = await bodyOf(app.get('/api/secrets'));
    return secrets.find(
      (one: { name: string; workspace: string | null }) => one.name === name && one.workspace === workspace,
    )?.usedBy;
  };
  const use = (path: string) => ({ workspace: user.name, path });
  expect(await usedBy('SHOP_TOKEN', null)).toEqual([use('agents/clerk.md'), use('tools/shop.md')]);
  expect(await usedBy('FLOW_TOKEN', null)).toEqual([use('flows/sell.md')]);
  expect(await usedBy('STEP_TOKEN', null)).toEqual([use('flows/sell.md')]);
  await put({ name: 'SHOP_TOKEN', workspace: user.name, value: 'nearer-to-the-file' });
  expect(await usedBy('SHOP_TOKEN', null)).toEqual([]);
  expect(await usedBy('SHOP_TOKEN', user.name)).toEqual([use('agents/clerk.md'), use('tools/shop.md')]);
});

describe('what is refused, and why', () => {
  const { oauth2, service_account: account, ssh, file } = samples;
  const ecKey = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  });
  const faults: readonly (readonly [string, object, RegExp])[] = [
    ['no shape', {}, /exactly one of value, file/],
    ['two shapes', { value: 'one-value', api: { key: 'one-key' } }, /there are value and api/],
    ['an unknown shape', { password: 'one-value' }, /unknown key/],
    ['an empty value', { value: '' }, /^value is empty/],
    ['a blank value', { value: '   ' }, /^value is empty/],
    ['a short value', { value: 'abc12' }, /fewer than 6 characters/],
    ['a value with its line’s end', { value: 'pasted-with-a-newline\n' }, /line break/],
    ['a value with CR', { value: 'first\rsecond' }, /line break/],
    ['a value with NUL', { value: 'first\0second' }, /NUL/],
    ['a value that is too big', { value: 'x'.repeat(65_537) }, /over 64 KiB/],
    ['a file that is too big', { file: { filename: 'a.pem', content: 'ä'.repeat(32_769) } }, /over 64 KiB/],
    ['a file in a folder', { file: { ...file, filename: '../a.pem' } }, /name without folders/],
    ['a PEM that is cut off', { file: { filename: 'a.pem', content: '-----BEGIN PRIVATE KEY-----\nabc' } }, /cut off/],
    [
      'a PEM that does not parse',
      { file: { filename: 'a.pem', content: '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n' } },
      /does not parse/,
    ],
    ['a key that no header carries', { api: { key: 'schlüssel-der-tür' } }, /no header can carry/],
    ['a key with a line break', { api: { key: 'first\nX-Other: second' } }, /line break/],
    ['a header that is none', { api: { key: 'one-good-key', header: 'X Api: Key' } }, /not a valid header name/],
    ['a token address that is none', { oauth2: { ...oauth2, token_url: 'shop.example/token' } }, /not a valid URL/],
    ['an oauth2 recipe without its token', { oauth2: { ...oauth2, refresh_token: '' } }, /refresh_token is empty/],
    [
      'a service’s key that does not parse',
      { service_account: { ...account, private_key: 'no key' } },
      /does not parse/,
    ],
    [
      'a service’s key of another kind',
      { service_account: { ...account, private_key: ecKey } },
      /must be one of type rsa/,
    ],
    ['no scope', { service_account: { ...account, scopes: [] } }, /scopes is empty/],
    ['an ssh key that does not parse', { ssh: { private_key: 'no key' } }, /private_key does not parse/],
    [
      'an ssh key that is cut off',
      { ssh: { private_key: ssh.private_key.slice(0, 90) } },
      /private_key does not parse/,
    ],
  ];
  test.each(faults)('%s', async (_what, body, says) => {
    const response = await put({ name: 'REFUSED', ...body });
    expect(response.status).toBe(422);
    const { error } = await bodyOf(response);
    expect(error).toMatch(says);
    expect(await open('REFUSED')).toBeNull();
  });

  test.each([
    '',
    '1ST',
    'WITH SPACE',
    'MY-TOKEN',
    'PATH',
    'LD_PRELOAD',
    'SSH_AUTH_SOCK',
    'BASH_ENV',
    'ARG_X',
    'HTTPS_PROXY',
  ])('the name “%s”', async (name) => {
    const response = await put({ name, value: 'a-good-value' });
    expect([response.status, (await bodyOf(response)).code]).toEqual([422, 'secret/bad-name']);
  });

  test('a refusal repeats nothing of what it refuses', async () => {
    for (const body of [
      { value: `${CANARY}\n` },
      { file: { filename: CANARY.repeat(9), content: CANARY } },
      { ssh: { private_key: `-----BEGIN OPENSSH PRIVATE KEY-----\n${CANARY}\n-----END OPENSSH PRIVATE KEY-----` } },
      { service_account: { ...account, private_key: CANARY } },
      { api: { key: CANARY, header: `X ${CANARY}` } },
      { oauth2: { ...oauth2, token_url: `https://user:${CANARY}@shop.example/` } },
      { value: { text: CANARY } },
      { [CANARY]: 'x' },
    ]) {
      const response = await put({ name: 'REFUSED', ...body });
      expect(response.status).toBe(422);
      if (!(CANARY in body)) expect(await response.text()).not.toContain(CANARY);
    }
  });
});

test('a deploy that names a secret which no vault in reach holds is warned, and one that is there is not', async () => {
  await put({ name: 'IN_REACH', value: 'held-by-the-account' });
  const tree = {
    'AGENTS.md': '# Names\n',
    'agents/clerk.md': '---\ndescription: Sells.\nsecrets: [IN_REACH, NOWHERE]\n---\n\nYou sell.\n',
  };
  const made = await app.post('/api/workspaces', { name: 'names-secrets', files: fileList(tree) });
  expect(made.status).toBe(201);
  const [row] = await app.deps.db.query<{ warnings: { code: string; message: string }[] }>(
    `SELECT r.index->'warnings' AS warnings FROM revision r JOIN workspace w ON w.id = r.workspace_id
     WHERE w.tenant_id = $1 AND w.name = 'names-secrets'`,
    [app.tenant],
  );
  expect(row?.warnings.filter(({ code }) => code === 'ref/secret').map(({ message }) => message)).toEqual([
    'No vault in reach holds the secret `NOWHERE`.',
  ]);
});
