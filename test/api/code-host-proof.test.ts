import { createHmac } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { KINDS, type Kind, SECRET } from '../support/code-host.js';
import { stagePushes } from '../support/push-stage.js';
import { SMALL } from '../support/workspace-app.js';

const TREE = { ...SMALL, 'knowledge/a.md': 'A' };
const stage = stagePushes();
const { pushes, tell } = stage;

test.each<[string, Kind, object | null, object]>([
  ['a ping', 'github', { event: 'ping', payload: { zen: 'Keep it simple', hook_id: 1 } }, { ok: true, ping: true }],
  ['an issue', 'github', { event: 'issues', payload: {} }, { ok: true, skipped: 'issues is not a push' }],
  [
    'a merge request',
    'gitlab',
    { event: 'Merge Request Hook', payload: {} },
    { ok: true, skipped: 'Merge Request Hook is not a push' },
  ],
  [
    'another branch',
    'gitlab',
    { ref: 'refs/heads/next' },
    { ok: true, skipped: 'refs/heads/next is not the branch main' },
  ],
  ['a tag', 'gitea', { ref: 'refs/tags/main' }, { ok: true, skipped: 'refs/tags/main is not the branch main' }],
])('%s is answered and nothing comes of it', async (_name, kind, more, answer) => {
  expect(await tell(kind, 'd'.repeat(40), more ?? {})).toEqual([200, answer]);
  expect(await pushes()).toEqual([]);
});

test('a branch that was deleted is answered and nothing comes of it', async () => {
  expect(await tell('github', '0'.repeat(40))).toEqual([200, { ok: true, skipped: 'the branch main was deleted' }]);
});

describe('security 9', () => {
  const REFUSED = [401, { error: 'the signature is not valid here', code: 'invalid-signature' }];

  test.each(KINDS)(
    'a wrong secret, an unknown workspace and account, and one without a secret are one 401 of %s',
    async (kind) => {
      const commit = stage.host.push(TREE);
      const bare = await stage.app.workspace();
      expect(await tell(kind, commit, { secret: 'another secret' })).toEqual(REFUSED);
      expect(await tell(kind, commit, { workspace: 'nobody' })).toEqual(REFUSED);
      expect(await tell(kind, commit, { workspace: 'no%00body' })).toEqual(REFUSED);
      expect(await tell(kind, commit, { workspace: bare.name })).toEqual(REFUSED);
      expect(await tell(kind, commit, { secret: '', workspace: bare.name })).toEqual(REFUSED);
      const shown = await pushes();
      expect(shown.map(({ state, tries }: { state: string; tries: number }) => [state, tries])).toEqual([
        ['invalid-signature', 1],
      ]);
      expect(stage.host.server.requests).toEqual([]);
    },
  );

  test('what is not signed is not read: broken JSON is a 401, and a 400 only for who has the secret', async () => {
    expect((await tell('github', '', { payload: '{', secret: 'another secret' }))[0]).toBe(401);
    expect((await tell('github', '', { payload: '{' }))[0]).toBe(400);
    expect((await tell('github', '', { payload: { ref: 'refs/heads/main' } }))[0]).toBe(422);
  });

  test('a known vector of GitHub is signed, one byte more is not, and Standard Webhooks count too', async () => {
    const post = (body: string, headers: Record<string, string>) =>
      stage.app.request(`/api/git/${stage.app.tenant}/${stage.ws.name}`, { as: null, method: 'POST', body, headers });
    const signature = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
    const github = { 'x-github-event': 'ping', 'x-hub-signature-256': signature };
    expect((await post('Hello, World!', github)).status).toBe(200);
    expect((await post('Hello, World!!', github)).status).toBe(401);
    expect((await post('Hello, World!', { 'x-github-event': 'ping', 'x-hub-signature': 'sha1=00' })).status).toBe(401);
    const time = String(Math.floor(Date.now() / 1_000));
    const mac = createHmac('sha256', SECRET).update(`msg_1.${time}.{}`).digest('base64');
    const standard = { 'webhook-id': 'msg_1', 'webhook-timestamp': time, 'webhook-signature': `v1,${mac}` };
    expect((await post('{}', { ...standard, 'x-gitlab-event': 'Issue Hook' })).status).toBe(200);
    expect((await post('{ }', { ...standard, 'x-gitlab-event': 'Issue Hook' })).status).toBe(401);
    expect((await post('{}', standard)).status).toBe(422);
  });

  test('a packed push is signed over the bytes as received', async () => {
    const packed = gzipSync('{}');
    const post = (signed: Uint8Array | string) =>
      stage.app.request(`/api/git/${stage.app.tenant}/${stage.ws.name}`, {
        as: null,
        method: 'POST',
        body: packed,
        headers: {
          'content-encoding': 'gzip',
          'content-type': 'application/json',
          'x-github-event': 'ping',
          'x-hub-signature-256': `sha256=${createHmac('sha256', SECRET).update(signed).digest('hex')}`,
        },
      });
    expect((await post('{}')).status).toBe(401);
    expect((await post(packed)).status).toBe(200);
  });

  test('a misspelt key of the address is told to who has the secret, and main is not deployed for it', async () => {
    const commit = stage.host.push(TREE);
    expect(await tell('github', commit, { query: '?brnch=live', secret: 'another secret' })).toEqual(REFUSED);
    expect(await tell('github', commit, { query: '?brnch=live' })).toEqual([
      422,
      expect.objectContaining({ error: 'query.brnch: unknown key; did you mean "branch"?' }),
    ]);
    expect((await pushes()).map(({ state }: { state: string }) => state)).toEqual(['invalid-signature']);
  });

  test('a preview is not pushed to, though it reads the secret of its workspace', async () => {
    await stage.app.deps.db.query(
      'INSERT INTO workspace (id, tenant_id, name, preview_of, preview_branch) VALUES ($1, $2, $3, $4, $5)',
      [`p-${stage.ws.id}`, stage.app.tenant, `${stage.ws.name}-preview-x`, stage.ws.id, 'x'],
    );
    expect(await tell('github', stage.host.push(TREE), { workspace: `${stage.ws.name}-preview-x` })).toEqual(REFUSED);
  });
});

test.each<[string, Record<string, string>]>([
  ['with a user in its address', { html_url: 'https://me:pw@example.com/acme/desk' }],
  ['of another scheme', { html_url: 'file:///acme/desk' }],
  ['whose name climbs', { full_name: '../desk' }],
  ['whose name is not in its address', { full_name: 'acme/other' }],
  ['with a name that ends the path', { full_name: 'acme/desk?x=' }],
])('security 21: a payload of a repository %s is refused', async (_name, spoilt) => {
  const payload = stage.host.payload('github', stage.host.push(TREE)) as { repository: Record<string, string> };
  Object.assign(payload.repository, spoilt);
  expect((await tell('github', '', { payload }))[0]).toBe(422);
});
