import { Readable } from 'node:stream';
import { createRoute } from '@hono/zod-openapi';
import { afterEach, expect, test, vi } from 'vitest';
import { createApp } from '../../src/api/app.js';
import { bodyStream } from '../../src/api/body-stream.js';
import { defineRoute } from '../../src/api/define-route.js';
import { serveApi } from '../../src/api/index.js';
import { createLog } from '../../src/api/log.js';
import { routes } from '../../src/api/routes/index.js';
import { rawResponse } from '../../src/api/schemas.js';
import type { Deps } from '../../src/deps.js';
import { atFileEnd } from '../support/file-end.js';
import { createWorkspaceApp, insertRun } from '../support/workspace-app.js';

const SECRET = 'connection string of ours';

afterEach(() => {
  vi.restoreAllMocks();
});

/** Its stream breaks off after so many chunks. */
const breaking = (chunks: number) =>
  defineRoute({
    access: 'open',
    route: createRoute({
      method: 'get',
      path: `/breaks/${chunks}`,
      responses: { 200: rawResponse('application/octet-stream', 'x') },
    }),
    handle: async (c) => {
      const parts = async function* () {
        for (let i = 0; i < chunks; i += 1) yield Buffer.from('part');
        throw new Error(SECRET);
      };
      return c.body(bodyStream(c, Readable.from(parts())), 200);
    },
  });

async function start(more: (deps: Deps) => Partial<Deps> = () => ({})) {
  const lines: { readonly level: string; readonly msg: string; readonly err?: { readonly message: string } }[] = [];
  const log = createLog('debug', { write: (line) => void lines.push(JSON.parse(line)) });
  const app = await createWorkspaceApp({ routes });
  const deps = { ...app.deps, ...more(app.deps), log, config: { ...app.deps.config, port: 0 } };
  const server = await serveApi(deps, createApp(deps, [...routes, breaking(0), breaking(3)]));
  atFileEnd(() => server.close());
  const printed = (['error', 'info', 'log', 'warn'] as const).map((name) => vi.spyOn(console, name));
  return {
    app,
    get: (path: string) => fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${app.key}` } }),
    errors: () => lines.filter(({ level }) => level === 'error'),
    printed: () => printed.flatMap(({ mock }) => mock.calls),
  };
}

test.each([0, 3])(
  'an answer that breaks off after %i chunks is cut and logged once; its error is neither printed nor sent',
  async (chunks) => {
    const { get, errors, printed } = await start();
    const whole = get(`/breaks/${chunks}`).then((response) => response.text());
    await expect(whole).rejects.toThrow();
    expect(errors()).toMatchObject([{ msg: 'failed to send a response body', err: { message: SECRET } }]);
    expect(printed()).toEqual([]);
  },
);

test('the stream of a run that breaks off ends without an end event, and is logged once; its error is neither printed nor sent', async () => {
  const { app, get, errors, printed } = await start(({ db }) => ({
    db: {
      ...db,
      query: async (query, values) => {
        // The plan of the snapshot, with which the stream begins.
        const text = typeof query === 'string' ? query : query.text;
        if (/FROM plan\b/.test(text)) throw new Error(SECRET);
        return db.query(query, values);
      },
    },
  }));
  const { name, id } = await app.workspace();
  const run = await insertRun(app, id);
  const response = await get(`/api/workspaces/${name}/runs/${run}/stream`);
  expect([response.status, await response.text()]).toEqual([200, '']);
  expect(errors()).toMatchObject([{ msg: 'run stream failed', err: { message: SECRET } }]);
  expect(printed()).toEqual([]);
});
