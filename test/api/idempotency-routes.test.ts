import { beforeAll, expect, test } from 'vitest';
import { routes } from '../../src/api/routes/index.js';
import { newId } from '../../src/shared/ids.js';
import { type AccessStage, createAccessStage } from '../support/access-stage.js';
import { performWrite } from '../support/perform-write.js';
import { someAddress } from '../support/sessions.js';
import { UNTOLD, WRITES, type Write } from '../support/writes.js';

/** Every POST that leaves the header aside, and why a repeat does no harm there. */
const IGNORED: Readonly<Record<string, string>> = {
  'POST /api/workspaces/{ws}/runs/{id}/stop': 'a run that is stopped stays stopped',
  'POST /api/workspaces/{ws}/evals/{eval}/runs/{id}/stop': 'an eval run that is stopped stays stopped',
  'POST /api/auth/logout': 'the session has ended',
  'POST /api/auth/timezone': 'sets the same timezone',
  'POST /api/hooks/{tenant}/{ws}/{flow}': 'a repeat is known by the sender’s delivery id',
  'POST /api/inbox/{tenant}/{ws}/{flow}': 'a repeat is known by the mail’s id',
  'POST /api/events/{tenant}/{ws}/{id}': 'the second event finds nothing that waits',
  'POST /api/approve/{tenant}/{ws}/{id}': 'the second decision finds the first one',
  'POST /api/git/{tenant}/{ws}': 'a repeat is known by the commit',
  'POST /git/{tenant}/{repo}/git-upload-pack': 'git’s own protocol',
  'POST /git/{tenant}/{repo}/git-receive-pack': 'git’s own protocol',
};

const posts = routes.filter(({ method }) => method === 'post').map((route) => [`POST ${route.path}`, route] as const);
const doing = (what: 'honour' | 'refuse') => posts.filter(([, { onKey }]) => onKey === what);

let stage: AccessStage;
beforeAll(async () => {
  stage = await createAccessStage({ trustProxy: true, signup: 'open' });
});

test('every POST honours Idempotency-Key, refuses it, or has a reason to leave it aside', () => {
  const ignored = posts.filter(([, { onKey }]) => onKey === 'ignore').map(([name]) => name);
  expect(ignored.toSorted()).toEqual(Object.keys(IGNORED).toSorted());
  for (const [name, { path }] of posts)
    if (/keys|team|secret|rotate|oauth\/start|login|signup/.test(path))
      expect(doing('refuse').map(([one]) => one)).toContain(name);
});

async function writeOf(name: string): Promise<Write> {
  if (name === 'POST /api/cli/login') return { json: { hostname: 'box' }, by: 'nobody' };
  return (await WRITES[name]?.(stage)) ?? {};
}

const entriesFrom = (address: string) =>
  stage.app.deps.db.query('SELECT action FROM audit_entry WHERE address = $1', [address]);

test.each(doing('refuse').filter(([name]) => !(name in UNTOLD) || name === 'POST /api/cli/login'))(
  '%s refuses the header before it does anything',
  async (name, route) => {
    const write = await writeOf(name);
    const address = someAddress();
    const headers = { 'x-forwarded-for': address, accept: 'application/json', 'idempotency-key': newId() };
    const refused = await performWrite(stage, { route, write, headers });
    expect([refused.status, await refused.json()]).toEqual([
      422,
      expect.objectContaining({
        code: 'idempotency-key-unsupported',
        error: expect.stringContaining('Idempotency-Key'),
      }),
    ]);
    expect(await entriesFrom(address)).toEqual([]);
  },
);

test.each(doing('honour').filter(([name]) => name in WRITES))(
  '%s gives its first answer again and does nothing more',
  async (name, route) => {
    const write = { ...(await writeOf(name)) };
    const path = write.path ?? (await stage.pathOf(route));
    const address = someAddress();
    const headers = { 'x-forwarded-for': address, 'idempotency-key': newId() };
    const call = { route, write: { ...write, path }, headers };
    const first = await performWrite(stage, call);
    expect([first.status < 300, first.headers.get('idempotency-replayed')]).toEqual([true, null]);
    const done = await entriesFrom(address);
    const again = await performWrite(stage, call);
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([first.status, 'true']);
    expect(await again.text()).toBe(await first.text());
    expect(await entriesFrom(address)).toEqual(done);
  },
);
