import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import {
  blobId,
  countObjects,
  listRefs,
  listTree,
  looksUntidy,
  MAIN,
  moveRef,
  openRepository,
  type Repository,
  readCommit,
  readObjects,
  readRef,
  removeRepository,
  repositoryFolder,
  setRefs,
  tidyRepository,
  writeBlobs,
  writeCommit,
  writeTree,
} from '../../src/git/index.js';
import { tidyAll } from '../../src/remotes/sweep.js';
import { fc, runs } from '../support/properties.js';

const home = mkdtempSync(join(tmpdir(), 'git-test-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const by = { kind: 'person', id: 'm1', label: 'ada@example.com' } as const;
const at = new Date('2026-01-02T03:04:05Z');
const git = (...args: string[]): string =>
  execFileSync('git', args, {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: home, GIT_CONFIG_NOSYSTEM: '1' },
  });

type Files = Readonly<Record<string, Uint8Array>>;

async function commit(repository: Repository, files: Files, parent: string | null, message = 'One'): Promise<string> {
  await writeBlobs(repository, Object.values(files));
  const tree = await writeTree(
    repository,
    Object.entries(files).map(([path, content]) => ({ path, sha: blobId(content) })),
  );
  const id = await writeCommit(repository, { tree, parent, by, message, at });
  await moveRef(repository, MAIN, id);
  return id;
}

function readClone(folder: string): Record<string, Buffer> {
  const found: Record<string, Buffer> = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name).slice(folder.length + 1);
    if (entry.isFile() && !path.startsWith('.git/')) found[path] = readFileSync(join(folder, path));
  }
  return found;
}

const text = (content: string): Uint8Array => Buffer.from(content);

test('the real git finds nothing to complain about, and a clone holds exactly the files', async () => {
  const repository = await openRepository(home, 'w1');
  const first = await commit(repository, { 'AGENTS.md': text('# Hi\n'), 'flows/a.md': text('## x @y\n') }, null);
  // Names around "/" in the order of bytes: a folder sorts as if its name ended in a slash.
  const files = {
    'AGENTS.md': text('# Hi\r\nthere'),
    'agents/a.md': text(''),
    'agents/a/agent.md': text('x'),
    'agents/a-b/agent.md': text('x'),
    'agents/a0.md': text('ä'),
    'tools/run/blob.bin': new Uint8Array([0, 255, 10, 13, 0]),
  };
  const second = await commit(repository, files, first, 'Two\n\nwith a body');

  expect(git('-C', repository.gitdir, 'fsck', '--full', '--strict')).toBe('');
  expect(git('-C', repository.gitdir, 'log', '--format=%H %an <%ae> %aI %s', 'main').trim().split('\n')).toEqual([
    `${second} ada@example.com <ada@example.com> 2026-01-02T03:04:05+00:00 Two`,
    `${first} ada@example.com <ada@example.com> 2026-01-02T03:04:05+00:00 One`,
  ]);
  const clone = join(home, 'clone');
  git('clone', '-q', repository.gitdir, clone);
  expect(readClone(clone)).toEqual(Object.fromEntries(Object.entries(files).map(([k, v]) => [k, Buffer.from(v)])));
});

test('what was written is read back: the ref, the commit, its files and their bytes', async () => {
  const repository = await openRepository(home, 'w2');
  expect(await readRef(repository, MAIN)).toBeNull();
  expect(await readCommit(repository, 'a'.repeat(40))).toBeNull();
  const content = text('hello\n');
  const id = await commit(repository, { 'b/c.md': content, 'a.md': content }, null);

  expect(await readRef(repository, MAIN)).toBe(id);
  expect(await readCommit(repository, id)).toMatchObject({ id, parents: [], message: 'One\n' });
  const sha = 'ce013625030ba8dba906f756967f9e9ca394464a';
  const listed = { sha, size: 6, executable: false };
  expect(await listTree(repository, id, { maxFiles: 10, maxBytes: 100 })).toEqual({
    files: [
      { path: 'a.md', ...listed },
      { path: 'b/c.md', ...listed },
    ],
    faults: [],
  });
  expect((await readObjects(repository, [sha], 100)).get(sha)?.toString()).toBe('hello\n');
});

test('a blob has the id that the real git gives it', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2_000 }), (content) => {
      const wanted = execFileSync('git', ['hash-object', '--stdin'], { input: content, encoding: 'utf8' }).trim();
      expect(blobId(content)).toBe(wanted);
    }),
    runs(25),
  );
});

test('any tree of canonical paths passes fsck and lists as it was written', async () => {
  const repository = await openRepository(home, 'w3');
  const name = fc.stringMatching(/^[a-z0-9][a-z0-9.ä_ -]{0,6}$/u).filter((part) => part === part.trim());
  const tree = fc.dictionary(
    fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => `${parts.join('/')}.md`),
    fc.uint8Array({ maxLength: 40 }),
    { minKeys: 1, maxKeys: 12 },
  );
  await fc.assert(
    fc.asyncProperty(tree, async (files) => {
      const paths = Object.keys(files);
      fc.pre(!paths.some((path) => paths.some((other) => other.startsWith(`${path}/`))));
      const id = await commit(repository, files, null);
      const listed = git('-C', repository.gitdir, 'ls-tree', '-r', '-z', '--name-only', id).split('\0').filter(Boolean);
      expect(listed.sort()).toEqual(paths.sort());
    }),
    runs(30),
  );
  expect(git('-C', repository.gitdir, 'fsck', '--full', '--strict', '--no-dangling')).toBe('');
});

test('a label or message that would break a commit header still makes a commit that git accepts', async () => {
  const repository = await openRepository(home, 'w4');
  const tree = await writeTree(repository, []);
  const labels = ['', '<evil> \n x', 'a\0b', 'key "ci" <k>', '  ', 'ada@example.com', 'ü'];
  for (const label of labels) {
    const actor = { kind: 'key', id: 'k 1\n', label } as const;
    const id = await writeCommit(repository, { tree, parent: null, by: actor, message: `\0\r\n${label}`, at });
    await moveRef(repository, MAIN, id);
    expect(git('-C', repository.gitdir, 'fsck', '--full', '--strict', '--no-dangling')).toBe('');
  }
});

test('twenty openings at once make one repository, and no draft stays behind', async () => {
  const all = await Promise.all(Array.from({ length: 20 }, () => openRepository(home, 'w5')));
  expect(new Set(all.map(({ gitdir }) => gitdir)).size).toBe(1);
  expect(git('-C', join(home, 'git', 'w5.git'), 'symbolic-ref', 'HEAD').trim()).toBe(MAIN);
  expect(readdirSync(join(home, 'git')).filter((name) => name.startsWith('.new-'))).toEqual([]);
  await removeRepository(home, 'w5');
  expect(readdirSync(join(home, 'git'))).not.toContain('w5.git');
});

test('what late writers left of a removed repository makes room for a new one, whoever opens it at once', async () => {
  const gitdir = repositoryFolder(home, 'w5-lost');
  mkdirSync(join(gitdir, 'quarantine', 'abc', 'pack'), { recursive: true });
  mkdirSync(join(gitdir, 'objects', 'ab'), { recursive: true });
  writeFileSync(join(gitdir, 'packs-loaded'), '7');
  const all = await Promise.all(Array.from({ length: 20 }, () => openRepository(home, 'w5-lost')));
  expect(new Set(all.map((one) => one.gitdir))).toEqual(new Set([gitdir]));
  expect(git('-C', gitdir, 'symbolic-ref', 'HEAD').trim()).toBe(MAIN);
  expect(readdirSync(gitdir)).not.toContain('packs-loaded');
  expect(readdirSync(join(home, 'git')).filter((name) => name.startsWith('.'))).toEqual([]);
});

test.each(['../x', 'a//b', '/a', 'a/', '.', 'a/./b'])('the path %j never becomes a tree', async (path) => {
  const repository = await openRepository(home, 'w6');
  await expect(writeTree(repository, [{ path, sha: blobId(text('')) }])).rejects.toThrow('not a canonical path');
});

test('refs change in one transaction: a ref that cannot be set leaves those that would go', async () => {
  const repository = await openRepository(home, 'refs-atomic');
  const main = await commit(repository, { 'a.md': Buffer.from('a') }, null);
  await moveRef(repository, 'refs/heads/old', main);
  const missing = new Map([
    [MAIN, main],
    ['refs/heads/new', 'f'.repeat(40)],
  ]);
  await expect(setRefs(repository, missing)).rejects.toThrow();
  expect([...(await listRefs(repository)).keys()].sort()).toEqual([MAIN, 'refs/heads/old']);
  await setRefs(repository, missing.set('refs/heads/new', main));
  expect([...(await listRefs(repository)).keys()].sort()).toEqual([MAIN, 'refs/heads/new']);
});

test.each([
  ['refs/heads/a', 'refs/heads/a/b/c'],
  ['refs/heads/a/b/c', 'refs/heads/a'],
])('%s gives way to %s', async (from, to) => {
  const repository = await openRepository(home, `refs-${from}`.replaceAll('/', '-'));
  const main = await commit(repository, { 'a.md': Buffer.from('a') }, null);
  for (const name of [from, to]) {
    const wanted = new Map([
      [MAIN, main],
      [name, main],
    ]);
    await setRefs(repository, wanted);
    expect(await listRefs(repository)).toEqual(wanted);
  }
});

test('what a killed writer leaves behind is passed over by git', async () => {
  const repository = await openRepository(home, 'w7');
  const id = await commit(repository, { 'a.md': text('a') }, null);
  // Names as git-fs gives them to files that are not yet whole.
  const folder = join(repository.gitdir, 'objects', id.slice(0, 2));
  writeFileSync(join(folder, 'tmp_obj_0123456789ab'), 'cut');
  writeFileSync(join(repository.gitdir, 'refs/heads/main.0123456789ab.lock'), 'cut');
  expect(git('-C', repository.gitdir, 'fsck', '--full', '--strict')).toBe('');
  expect(git('-C', repository.gitdir, 'for-each-ref', '--format=%(refname)').trim()).toBe(MAIN);
  git('clone', '-q', repository.gitdir, join(home, 'clone-of-killed'));
});

test('a file that is being written never stands under its own name', async () => {
  const repository = await openRepository(home, 'w8');
  const seen = new Set<string>();
  const watcher = watch(repository.gitdir, { recursive: true }, (_event, name) => seen.add(String(name)));
  const content = text('watched');
  await commit(repository, { 'a.md': content }, null);
  await expect.poll(() => [...seen].some((name) => name.endsWith('refs/heads/main'))).toBe(true);
  watcher.close();
  const drafts = [...seen].map((name) => basename(name));
  expect(drafts.some((name) => name.startsWith('tmp_obj_'))).toBe(true);
  expect(drafts.some((name) => /^main\.[0-9a-f]{12}\.lock$/.test(name))).toBe(true);
});

test('a repository that many writes made slow is found at a glance and packed; one that few did is left alone', async () => {
  const dataDir = join(home, 'tidied');
  const many = await openRepository(dataDir, 'many');
  const few = await openRepository(dataDir, 'few');
  const texts = Array.from({ length: 4_000 }, (_, n) => text(`no ${n}\n`));
  // By the folder that stands for all of them there seem to be a thousand; counted there are few.
  await writeBlobs(few, texts.filter((content) => blobId(content).startsWith('17')).slice(0, 6));
  for (let n = 0; n < 21; n += 1) {
    await commit(many, { 'AGENTS.md': text(`# ${n}\n`) }, null);
    git('-C', many.gitdir, 'repack', '-d', '-q');
  }
  expect((await countObjects(many)).packs).toBe(21);
  expect([await looksUntidy(many), await looksUntidy(few)]).toEqual([true, true]);
  await tidyAll(dataDir);
  expect((await countObjects(many)).packs).toBeLessThan(21);
  expect(await looksUntidy(many)).toBe(false);
  expect(await countObjects(few)).toEqual({ loose: 6, packs: 0 });
});

test('what many writes left is gathered into few packs, and nothing of it is lost', async () => {
  const repository = await openRepository(home, 'many');
  const most = { loose: 50, packs: 3 };
  expect(await tidyRepository(repository, { most })).toBe(false);
  const files = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`knowledge/${n}.md`, text(`no ${n}\n`)]));
  const first = await commit(repository, files, null);
  // No ref leads to it: it may be what a push is about to take.
  const [loose] = [blobId(text('of nobody yet'))];
  await writeBlobs(repository, [text('of nobody yet')]);
  expect(await tidyRepository(repository, { most })).toBe(true);
  expect(await countObjects(repository)).toEqual({ loose: 0, packs: 1 });
  expect(await readCommit(repository, first)).not.toBeNull();
  expect((await readObjects(repository, [loose], 1_000)).get(loose)?.toString()).toBe('of nobody yet');
  const second = await commit(repository, { ...files, 'AGENTS.md': text('# Hi\n') }, first, 'Two');
  git('-C', repository.gitdir, 'fsck', '--full', '--strict');
  git('clone', '-q', repository.gitdir, join(home, 'many-clone'));
  expect(git('-C', join(home, 'many-clone'), 'rev-parse', 'HEAD').trim()).toBe(second);
  for (let n = 0; n < 4; n += 1) {
    await commit(repository, { 'AGENTS.md': text(`# ${n}\n`) }, null);
    git('-C', repository.gitdir, 'repack', '-d', '-q');
  }
  expect(await tidyRepository(repository, { most })).toBe(true);
  expect((await countObjects(repository)).packs).toBeLessThan(4);
  git('-C', repository.gitdir, 'fsck', '--full', '--strict');
});
