import { expect, test } from 'vitest';
import { blobId } from '../../src/git/index.js';
import {
  agentWrites,
  bodyOf,
  createWorkspaceApp,
  FLOW,
  insertRun,
  SMALL,
  type WorkspaceApp,
} from '../support/workspace-app.js';

const sha = (text: string): string => blobId(Buffer.from(text));
const tag = (text: string): string => `"${sha(text)}"`;

interface Fixture {
  readonly app: WorkspaceApp;
  readonly id: string;
  readonly url: string;
  readonly name: string;
  file(path: string): Promise<Response>;
  put(path: string, content: string, headers?: Record<string, string>): Promise<Response>;
  move(from: string, to: string, headers?: Record<string, string>): Promise<Response>;
  remove(path: string, headers?: Record<string, string>): Promise<Response>;
}

async function createFixture(files: Readonly<Record<string, string>> = SMALL): Promise<Fixture> {
  const app = await createWorkspaceApp();
  const { name, id } = await app.workspace(files);
  const url = `/api/workspaces/${name}/source`;
  const at = (path: string): string => `${url}?path=${encodeURIComponent(path)}`;
  return {
    app,
    id,
    url,
    name,
    file: (path) => app.get(at(path)),
    put: (path, content, headers = {}) => app.put(url, { path, content }, { headers }),
    move: (from, to, headers = {}) => app.patch(url, { from, to }, { headers }),
    remove: (path, headers = {}) => app.delete(at(path), { headers }),
  };
}

test('the tree lists each file with its git blob id, size, kind and writer, by path', async () => {
  const { app, url, name, put } = await createFixture();
  await put('knowledge/a.md', 'a\n');
  const { files, revision } = await bodyOf(app.get(url));
  expect(
    files.map((file: { path: string; kind: string; writtenBy: string }) => [file.path, file.kind, file.writtenBy]),
  ).toEqual([
    ['AGENTS.md', 'workspace', 'deploy'],
    ['agents/writer.md', 'agent', 'deploy'],
    ['flows/hello.md', 'flow', 'deploy'],
    ['knowledge/a.md', 'knowledge', 'person'],
  ]);
  expect(files[3]).toMatchObject({ sha: sha('a\n'), size: 2 });
  expect(revision).toBe((await bodyOf(app.get(`/api/workspaces/${name}`))).revision);
});

test('a file comes with its bytes, its ETag and the issues of its own', async () => {
  const warned = FLOW.replace('description:', 'trigger: webhook\ndescription:');
  const { app, url, file } = await createFixture({ ...SMALL, 'flows/hello.md': warned, 'AGENTS.md': '\uFEFFa\r\nb' });
  const response = await file('AGENTS.md');
  expect(response.headers.get('etag')).toBe(tag('\uFEFFa\r\nb'));
  expect(await bodyOf(response)).toMatchObject({
    path: 'AGENTS.md',
    content: '\uFEFFa\r\nb',
    kind: 'workspace',
    issues: [],
  });
  const { issues } = await bodyOf(file('flows/hello.md'));
  expect(issues).toEqual([
    expect.objectContaining({ path: 'flows/hello.md', code: 'flow/unsigned-webhook', severity: 'warning' }),
  ]);
  const known = await app.get(`${url}?path=AGENTS.md`, { headers: { 'if-none-match': tag('\uFEFFa\r\nb') } });
  expect([known.status, await known.text()]).toEqual([304, '']);
  expect((await file('knowledge/no.md')).status).toBe(404);
  expect((await file('../etc/passwd')).status).toBe(422);
});

test('a file that is no text comes and goes in base64', async () => {
  const { app, url, file } = await createFixture();
  const contentBase64 = Buffer.from([0, 255, 254, 10]).toString('base64');
  expect((await app.put(url, { path: 'knowledge/p.png', contentBase64 })).status).toBe(200);
  const body = await bodyOf(file('knowledge/p.png'));
  expect(body).toMatchObject({ contentBase64, size: 4 });
  expect(body).not.toHaveProperty('content');
});

test('a write is a deploy of that one change: it answers the same, also over live runs', async () => {
  const { app, id, url, put, file } = await createFixture();
  await insertRun(app, id);
  const response = await put('flows/hello.md', FLOW.replace('Say hello.', 'Say bye.'));
  expect(response.headers.get('etag')).toBe(tag(FLOW.replace('Say hello.', 'Say bye.')));
  const body = await bodyOf(response);
  expect(body).toMatchObject({ ok: true, applied: true, added: [], changed: ['flows/hello.md'], removed: [] });
  expect((await bodyOf(file('flows/hello.md'))).content).toContain('Say bye.');
  expect((await bodyOf(app.get(url))).revision).toBe(body.revision);
  // The path may stand in the query too, but not another one.
  expect((await app.put(`${url}?path=knowledge/q.md`, { content: 'q' })).status).toBe(200);
  expect((await app.put(`${url}?path=knowledge/q.md`, { path: 'knowledge/r.md', content: 'q' })).status).toBe(422);
  expect((await app.put(url, { content: 'q' })).status).toBe(422);
});

test('a write, a move or a removal that breaks the tree is 422 with the issues, and leaves the file as it was', async () => {
  const { app, put, name } = await createFixture();
  const response = await put('flows/hello.md', '## Nobody\n\nDo it.\n');
  expect(response.status).toBe(422);
  expect((await bodyOf(response)).issues[0]).toMatchObject({ path: 'flows/hello.md', severity: 'error' });
  expect(await app.readTree(name)).toEqual(SMALL);
});

test('If-Match lets the write through only while the file is the one that was read', async () => {
  const { put, move, remove } = await createFixture({ ...SMALL, 'knowledge/a.md': '1' });
  const stale = { 'if-match': tag('0') };
  for (const refused of [
    await put('knowledge/a.md', '2', stale),
    await move('knowledge/a.md', 'knowledge/b.md', stale),
    await remove('knowledge/a.md', stale),
    await put('knowledge/new.md', 'x', { 'if-match': '*' }),
  ]) {
    expect(refused.status).toBe(412);
  }
  expect((await bodyOf(put('knowledge/a.md', '2', stale))).sha).toBe(sha('1'));
  expect((await put('knowledge/a.md', '2', { 'if-match': `"other", W/${tag('1')}` })).status).toBe(200);
  expect((await move('knowledge/a.md', 'knowledge/b.md', { 'if-match': tag('2') })).status).toBe(200);
  expect((await remove('knowledge/b.md', { 'if-match': tag('2') })).status).toBe(200);
});

test('If-None-Match: * makes a file and never overwrites one', async () => {
  const { put, file } = await createFixture();
  const fresh = { 'if-none-match': '*' };
  expect((await put('knowledge/a.md', '1', fresh)).status).toBe(200);
  expect((await put('knowledge/a.md', '2', fresh)).status).toBe(412);
  expect((await bodyOf(file('knowledge/a.md'))).content).toBe('1');
  expect((await put('knowledge/a.md', '2', { 'if-none-match': tag('1') })).status).toBe(422);
});

test('of twenty writers who all read the same file one wins, and the others learn it', async () => {
  const { put, file } = await createFixture({ ...SMALL, 'knowledge/a.md': '0' });
  const writes = Array.from({ length: 20 }, (_, n) => put('knowledge/a.md', `mine ${n}`, { 'if-match': tag('0') }));
  const all = await Promise.all(writes);
  expect(all.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(412)]);
  const winner = all.findIndex(({ status }) => status === 200);
  expect((await bodyOf(file('knowledge/a.md'))).content).toBe(`mine ${winner}`);
});

test('twenty writes of different files at once are all kept', async () => {
  const { app, name, put } = await createFixture();
  const writes = Array.from({ length: 20 }, (_, n) => put(`knowledge/${n}.md`, `${n}`));
  expect((await Promise.all(writes)).map(({ status }) => status)).toEqual(Array(20).fill(200));
  const tree = await app.readTree(name);
  for (let n = 0; n < 20; n += 1) expect(tree[`knowledge/${n}.md`]).toBe(`${n}`);
});

test('a move keeps the bytes and takes no place that is taken', async () => {
  const { app, name, move } = await createFixture({ ...SMALL, 'knowledge/a.md': 'a', 'knowledge/b.md': 'b' });
  expect((await move('knowledge/a.md', 'knowledge/b.md')).status).toBe(409);
  expect((await move('knowledge/no.md', 'knowledge/c.md')).status).toBe(404);
  const nowhere = await move('knowledge/a.md', 'knowledge/a.md');
  expect([nowhere.status, (await bodyOf(nowhere)).error]).toEqual([
    422,
    expect.stringContaining('is the current path'),
  ]);
  expect((await move('knowledge/a.md', 'storage/a.md')).status).toBe(422);
  expect((await move('knowledge/a.md', 'knowledge/../c.md')).status).toBe(422);
  const moved = await move('knowledge/a.md', 'knowledge/c.md');
  expect(moved.headers.get('etag')).toBe(tag('a'));
  expect(await bodyOf(moved)).toMatchObject({
    added: ['knowledge/c.md'],
    removed: ['knowledge/a.md'],
    path: 'knowledge/c.md',
  });
  expect(await app.readTree(name)).toEqual({ ...SMALL, 'knowledge/b.md': 'b', 'knowledge/c.md': 'a' });
});

test('half a surrogate pair is no text: it is refused and not stored as another sign', async () => {
  const { app, name } = await createFixture(SMALL);
  for (const [content, status] of [
    ['a\uD83Db', 422],
    ['a\uDE00', 422],
    ['a😀b', 200],
  ] as const) {
    const response = await app.put(`/api/workspaces/${name}/source`, { path: 'knowledge/a.md', content });
    expect([content, response.status]).toEqual([content, status]);
  }
  expect((await app.readTree(name))['knowledge/a.md']).toBe('a😀b');
});

test('a removal takes the file away; a file that is not there is 404', async () => {
  const { app, name, remove } = await createFixture({ ...SMALL, 'knowledge/a.md': 'a' });
  expect(await bodyOf(remove('knowledge/a.md'))).toMatchObject({
    applied: true,
    removed: ['knowledge/a.md'],
    sha: null,
  });
  expect((await remove('knowledge/a.md')).status).toBe(404);
  expect((await remove('secrets.json')).status).toBe(404);
  expect(await app.readTree(name)).toEqual(SMALL);
});

test('readers see memory as agents left it, and a person’s write stands over it', async () => {
  const { app, id, name, url, file, put } = await createFixture({ ...SMALL, 'memory/a.md': 'v1' });
  await agentWrites(app, { id, path: 'memory/a.md', content: 'agent', seen: 'v1' });
  const listed = (await bodyOf(app.get(url))).files.find(({ path }: { path: string }) => path === 'memory/a.md');
  expect(listed).toMatchObject({ writtenBy: 'agent', kind: 'memory', sha: sha('agent'), size: 5 });
  const read = await file('memory/a.md');
  expect([read.headers.get('etag'), (await bodyOf(read)).content]).toEqual([tag('agent'), 'agent']);

  // Another file's write leaves it alone.
  await put('knowledge/a.md', 'x');
  expect((await app.readTree(name))['memory/a.md']).toBe('agent');

  expect((await put('memory/a.md', 'person', { 'if-match': tag('v1') })).status).toBe(412);
  expect(await bodyOf(put('memory/a.md', 'person', { 'if-match': tag('agent') }))).toMatchObject({
    changed: ['memory/a.md'],
  });
  expect((await bodyOf(file('memory/a.md'))).writtenBy).toBe('person');
  expect(await app.deps.db.query('SELECT 1 FROM memory_file WHERE workspace_id = $1', [id])).toEqual([]);
});

test('memory that only an agent wrote is moved and removed by people like any file', async () => {
  const { app, id, name, move, remove } = await createFixture();
  await agentWrites(app, { id, path: 'memory/a.md', content: 'one', seen: null });
  await agentWrites(app, { id, path: 'memory/b.md', content: 'two', seen: null });
  expect((await move('memory/a.md', 'memory/c.md')).status).toBe(200);
  expect((await remove('memory/b.md')).status).toBe(200);
  expect(await app.readTree(name)).toEqual({ ...SMALL, 'memory/c.md': 'one' });
});
