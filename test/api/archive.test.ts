import { beforeAll, expect, test } from 'vitest';
import { routes } from '../../src/api/routes/index.js';
import { createWorkspaceApp, insertRun, type WorkspaceApp } from '../support/workspace-app.js';

const BYTES = '<script>alert(1)</script>0123456789';
let app: WorkspaceApp;
let url: (path: string, agent?: string) => string;

beforeAll(async () => {
  app = await createWorkspaceApp({ routes });
  const { name, id } = await app.workspace();
  const run = await insertRun(app, id, { status: 'completed', finishedAt: new Date() });
  const sha = await app.deps.blobs.put(Buffer.from(BYTES));
  for (const path of NAMES) {
    await app.deps.db.query(
      `INSERT INTO run_file (run_id, agent, path, step, sha, size) VALUES ($1, 'writer', $2, 's', $3, $4)`,
      [run, `outputs/${path}`, sha, BYTES.length],
    );
  }
  url = (path, agent = 'writer') =>
    `/api/workspaces/${name}/runs/${run}/archive?agent=${agent}&path=${encodeURIComponent(path)}`;
});

const NAMES = ['page.html', 'a/b.svg', 'q"; filename=evil.html', 'line\r\nX-Evil: 1', 'ü 日本 (1)*!.pdf', "it's;a,b"];

test.each(NAMES)(
  'security 29: %j goes out as bytes to be saved, never as a page, whatever its name holds',
  async (name) => {
    const response = await app.get(url(name));
    expect([response.status, await response.text()]).toEqual([200, BYTES]);
    const { headers } = response;
    expect(headers.get('content-type')).toBe('application/octet-stream');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain('sandbox');
    expect(headers.has('x-evil')).toBe(false);
    const [, shown = ''] = /^attachment; filename\*=UTF-8''([A-Za-z0-9._~%-]+)$/.exec(
      headers.get('content-disposition') ?? '',
    ) ?? ['', ''];
    expect(decodeURIComponent(shown)).toBe(name.split('/').at(-1));
  },
);

test.each<[string | undefined, number, string, string | null]>([
  ['bytes=0-7', 206, '<script>', 'bytes 0-7/35'],
  ['bytes=25-', 206, '0123456789', 'bytes 25-34/35'],
  ['bytes=-4', 206, '6789', 'bytes 31-34/35'],
  ['bytes=30-900', 206, '56789', 'bytes 30-34/35'],
  ['bytes=-900', 206, BYTES, 'bytes 0-34/35'],
  ['bytes=35-', 416, '', 'bytes */35'],
  ['bytes=-0', 416, '', 'bytes */35'],
  ['bytes=9-2', 200, BYTES, null],
  ['bytes=0-1,4-5', 200, BYTES, null],
  ['lines=0-1', 200, BYTES, null],
  [undefined, 200, BYTES, null],
])('the range %s is answered with %i', async (range, status, body, contentRange) => {
  const headers = { ...(range && { range }) };
  const got = await app.get(url('page.html'), { headers });
  expect([got.status, await got.text(), got.headers.get('content-range')]).toEqual([status, body, contentRange]);
  const head = await app.request(url('page.html'), { method: 'HEAD', headers });
  expect([head.status, await head.text()]).toEqual([status, '']);
  expect(head.headers.get('content-length')).toBe(got.headers.get('content-length'));
});

test('who has the bytes is told so, and a range of other bytes is the whole', async () => {
  const etag = (await app.get(url('page.html'))).headers.get('etag') ?? '';
  const known = await app.get(url('page.html'), { headers: { 'if-none-match': `"x", W/${etag}` } });
  expect([known.status, await known.text()]).toEqual([304, '']);
  const other = await app.get(url('page.html'), { headers: { range: 'bytes=0-1', 'if-range': '"x"' } });
  expect([other.status, await other.text()]).toEqual([200, BYTES]);
  const same = await app.get(url('page.html'), { headers: { range: 'bytes=0-1', 'if-range': etag } });
  expect([same.status, await same.text()]).toEqual([206, '<s']);
});

test('a path that the run has not archived is not there, however it is spelt', async () => {
  for (const path of ['page', '../page.html', 'outputs/../page.html', '/etc/passwd', 'a/../page.html', '%00']) {
    expect([path, (await app.get(url(path))).status]).toEqual([path, 404]);
  }
  expect((await app.get(url('page.html', 'other'))).status).toBe(404);
  expect((await app.get(url('page.html\0'))).status).toBeOneOf([404, 422]);
});
