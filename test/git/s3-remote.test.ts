import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { removeRepository } from '../../src/git/index.js';
import { createBlobStore } from '../../src/platform/storage/index.js';
import { commitAll, createRemoteApp, git, readFolder, runGit } from '../support/git-remote.js';
import { startS3 } from '../support/s3-server.js';

function write(folder: string, path: string, content: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}

test('packs of pushes are in the S3 store: a machine without the repository serves them, and a branch’s deletion frees none that main has', async () => {
  const s3 = await startS3();
  const blobs = createBlobStore({ dataDir: '/nowhere', s3 });
  const app = await createRemoteApp({ deps: { blobs } });
  const { name, id, clone } = await app.start();
  write(clone, 'knowledge/main.md', 'main\n');
  await commitAll(clone, 'On main');
  expect(await runGit(clone, 'push', 'origin', 'main')).toMatchObject({ code: 0 });
  write(clone, 'knowledge/side.md', 'side\n');
  await commitAll(clone, 'On the side');
  expect(await runGit(clone, 'push', 'origin', 'HEAD:side')).toMatchObject({ code: 0 });
  const packs = await app.deps.db.query<{ sha: string }>('SELECT sha FROM git_pack WHERE workspace_id = $1', [id]);
  expect(packs).toHaveLength(2);
  for (const { sha } of packs) expect(await blobs.has(sha)).toBe(true);

  await removeRepository(app.deps.config.dataDir, id);
  const fresh = await app.clone(name);
  expect(await git(fresh, 'rev-parse', 'origin/main', 'origin/side')).toBe(
    await git(clone, 'rev-parse', 'HEAD~1', 'HEAD'),
  );
  expect(await git(fresh, 'fsck', '--full', '--strict')).toBe('');
  await git(fresh, 'merge', '-q', 'origin/side');
  expect(await runGit(fresh, 'push', 'origin', 'main', ':side')).toMatchObject({ code: 0 });
  await removeRepository(app.deps.config.dataDir, id);
  expect(readFolder(await app.clone(name))).toEqual(readFolder(clone));

  expect((await app.delete(`/api/workspaces/${name}`)).status).toBe(200);
  for (const { sha } of packs) expect(await blobs.has(sha)).toBe(false);
});

test('a store that takes nothing refuses the push and leaves what is live; once it takes, the same push works', async () => {
  const s3 = await startS3();
  const right = createBlobStore({ dataDir: '/nowhere', s3 });
  const wrong = createBlobStore({ dataDir: '/nowhere', s3: { ...s3, secretKey: 'wrong' } });
  let store = wrong;
  const app = await createRemoteApp({
    deps: { blobs: { ...right, has: (sha) => store.has(sha), putFile: (file, sha) => store.putFile(file, sha) } },
  });
  const { name, clone } = await app.start();
  const before = readFolder(clone);
  write(clone, 'knowledge/new.md', 'new\n');
  await commitAll(clone);
  const refused = await runGit(clone, 'push', 'origin', 'main');
  expect([refused.code, refused.err]).toEqual([
    1,
    expect.stringContaining('the storage does not answer, and nothing was changed: push again'),
  ]);
  expect(readFolder(await app.clone(name))).toEqual(before);
  store = right;
  expect(await runGit(clone, 'push', 'origin', 'main')).toMatchObject({ code: 0 });
  expect(readFolder(await app.clone(name))).toEqual(readFolder(clone));
});
