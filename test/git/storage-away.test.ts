import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { repositoryFolder } from '../../src/git/index.js';
import type { Workflows } from '../../src/platform/temporal/contract.js';
import { beginPushes } from '../../src/remotes/code-host/begin-pushes.js';
import { InFlight } from '../../src/shared/in-flight.js';
import { commitAll, createRemoteApp, type RemoteApp, readFolder, runGit } from '../support/git-remote.js';
import { hooked, hookOf, runsOf, send } from '../support/hooks.js';
import { stagePushes } from '../support/push-stage.js';
import { AGENT, bodyOf, SMALL } from '../support/workspace-app.js';

let app: RemoteApp;
beforeAll(async () => {
  const workflows = new Proxy({} as Workflows, { get: () => () => Promise.reject(new Error('Temporal is away')) });
  app = await createRemoteApp({ deps: { workflows } });
});

/** Takes a folder away as a disk that is gone does: nothing can be read or written there. Answers how it comes back. */
function away(folder: string): () => void {
  mkdirSync(folder, { recursive: true });
  renameSync(folder, `${folder}.away`);
  writeFileSync(folder, '');
  const back = (): void => {
    if (!existsSync(`${folder}.away`)) return;
    rmSync(folder);
    renameSync(`${folder}.away`, folder);
  };
  onTestFinished(back);
  return back;
}

const blobsOf = ({ deps }: Pick<RemoteApp, 'deps'>) => join(deps.config.dataDir, 'blobs');
const repositoryOf = (id: string, { deps }: Pick<RemoteApp, 'deps'> = app) => repositoryFolder(deps.config.dataDir, id);

const TOLD = {
  code: 'storage-unavailable',
  retryAfter: 5,
  error: expect.stringMatching(/^the storage does not answer, and nothing was/),
};
const told = async (response: Response) => {
  expect([response.status, response.headers.get('retry-after'), await bodyOf(response)]).toEqual([503, '5', TOLD]);
};
const done = async (response: Response) => expect([200, 201]).toContain(response.status);

function write(folder: string, path: string, content: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}

test('whatever changes files says with 503 that the disk is away, nothing has changed, and the same works once it is back', async () => {
  const { name, id } = await app.start();
  const path = `/api/workspaces/${name}`;
  const before = await app.readTree(name);
  const history = async () => (await bodyOf(app.get(`${path}/history`))).changes.length;
  const changes = await history();
  const doors: readonly (() => Promise<Response>)[] = [
    () => app.deploy(name, { ...SMALL, 'knowledge/a.md': 'a' }),
    () => app.put(`${path}/source`, { path: 'knowledge/b.md', content: 'b' }),
    () => app.patch(`${path}/source`, { from: 'AGENTS.md', to: 'knowledge/c.md' }),
    () => app.post(`${path}/flows`, { name: 'second', pattern: 'blank' }),
    () => app.delete(`${path}/source?path=flows/hello.md`),
  ];
  const back = away(repositoryOf(id));
  for (const door of doors) await told(await door());
  await told(await app.get(`${path}/repo`));
  expect([await app.readTree(name), await history()]).toEqual([before, changes]);
  back();
  const [deploy] = doors;
  if (deploy) await done(await deploy());
  expect(await history()).toBe(changes + 1);

  const shelf = () => app.put('/api/library/knowledge', { path: 'knowledge/a.md', content: 'a' });
  const shelfBack = away(repositoryOf(`library.${app.tenant}`));
  await told(await shelf());
  shelfBack();
  await done(await shelf());
});

test('a push says that the storage does not answer, nothing has moved, and the same push works once it is back', async () => {
  const { name, id, clone } = await app.start();
  const before = readFolder(clone);
  write(clone, 'knowledge/new.md', 'new\n');
  await commitAll(clone);
  const push = () => runGit(clone, 'push', 'origin', 'main', 'HEAD:next');
  const blobsBack = away(blobsOf(app));
  const refused = await push();
  blobsBack();
  const says = 'the storage does not answer, and nothing was changed: push again in a moment';
  for (const ref of ['main', 'HEAD'])
    expect(refused.err).toContain(`[remote rejected] ${ref} -> ${ref === 'HEAD' ? 'next' : ref} (${says})`);
  expect(refused.code).toBe(1);

  const back = away(repositoryOf(id));
  const asked = await runGit(clone, 'push', 'origin', 'main');
  back();
  expect(asked).toMatchObject({ code: 1, err: expect.stringContaining(`[remote rejected] main -> main (${says})`) });
  expect(readFolder(await app.clone(name))).toEqual(before);
  expect(await push()).toMatchObject({ code: 0 });
  expect(readFolder(await app.clone(name))).toEqual(readFolder(clone));
});

test('a merge that cannot be kept is 503 and leaves main; the same merge works once it can be', async () => {
  const { name, clone } = await app.start();
  write(clone, 'knowledge/side.md', 'side\n');
  await commitAll(clone);
  expect(await runGit(clone, 'push', 'origin', 'HEAD:side')).toMatchObject({ code: 0 });
  await done(await app.put(`/api/workspaces/${name}/source`, { path: 'knowledge/main.md', content: 'main' }));
  const before = await app.readTree(name);
  const merge = () => app.post(`/api/workspaces/${name}/repo`, { action: 'merge', branch: 'side' });
  const back = away(blobsOf(app));
  await told(await merge());
  back();
  expect(await app.readTree(name)).toEqual(before);
  await done(await merge());
  expect(await app.readTree(name)).toEqual({ ...before, 'knowledge/side.md': 'side\n' });
});

test('a mail whose files cannot be stored is 503 and starts nothing; sent again it starts its run, once', async () => {
  const { name } = await app.workspace({ 'agents/writer.md': AGENT, 'flows/hooked.md': hooked('trigger: email') });
  const { inboxUrl } = await hookOf(app, name);
  const mail = {
    ...{ from: 'ada@acme.test', to: 'in@x.test', subject: 'Hi', text: 'Hello', html: '' },
    headers: { 'Message-ID': '<1@acme.test>' },
    attachments: [{ filename: 'a.txt', content: Buffer.from(`file of ${name}`).toString('base64') }],
  };
  const back = away(blobsOf(app));
  expect(await send(app, inboxUrl, mail)).toEqual([503, TOLD]);
  expect(await runsOf(app, name)).toEqual([]);
  back();
  for (const _ of [1, 2]) expect((await send(app, inboxUrl, mail))[0]).toBe(202);
  expect(await runsOf(app, name)).toHaveLength(1);

  const [file] = await app.deps.db.query<{ path: string }>(
    'SELECT e.path FROM storage_entry e JOIN workspace w ON w.id = e.workspace_id WHERE w.name = $1',
    [name],
  );
  expect(file?.path).toMatch(/^files\/inbox\/.*\/a\.txt$/);
});

const stage = stagePushes();

test('a code host’s push that the disk does not take is kept with the reason, and deployed once it does', async () => {
  const work = async (): Promise<void> => {
    await stage.app.deps.db.query(`UPDATE code_push SET due_at = now() - interval '1 s' WHERE workspace_id = $1`, [
      stage.ws.id,
    ]);
    const at = new InFlight({ atOnce: 4, each: 4 }, () => undefined);
    while ((await beginPushes(stage.app.deps, at)) > 0) await at.idle();
  };
  const commit = stage.host.push({ ...SMALL, 'knowledge/a.md': 'A' });
  expect((await stage.tell('github', commit))[0]).toBe(202);
  const back = away(repositoryOf(stage.ws.id, stage.app));
  await work();
  expect(await stage.pushes()).toMatchObject([{ state: 'pending', detail: 'the storage does not answer' }]);
  back();
  await work();
  expect(await stage.pushes()).toMatchObject([{ state: 'applied', revision: commit }]);
});
