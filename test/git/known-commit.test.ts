import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { type GitObject, listTree, readKnownCommit } from '../../src/git/index.js';
import { readBatch } from '../../src/git/read-tree.js';
import { fc, runs } from '../support/properties.js';

const home = mkdtempSync(join(tmpdir(), 'known-commit-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));
let folders = 0;

function git(folder: string, ...args: string[]): string {
  const who = ['-c', 'user.name=T', '-c', 'user.email=t@example.com', '-c', 'core.autocrlf=false'];
  return execFileSync('git', ['-C', folder, ...who, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
}

/** A repository with one commit; `commit` makes the next of these files and no others. */
function startRepository() {
  folders += 1;
  const folder = join(home, String(folders));
  mkdirSync(folder);
  git(folder, 'init', '-q', '-b', 'main');
  const commit = (files: Readonly<Record<string, string>>, extra: () => void = () => undefined): string => {
    for (const name of readdirSync(folder))
      if (name !== '.git') rmSync(join(folder, name), { recursive: true, force: true });
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(folder, dirname(path)), { recursive: true });
      writeFileSync(join(folder, path), text, { mode: text.startsWith('#!') ? 0o755 : 0o644 });
    }
    git(folder, 'add', '-A');
    extra();
    git(folder, 'commit', '-q', '--allow-empty', '-m', 'x');
    return git(folder, 'rev-parse', 'HEAD');
  };
  return { folder, repository: { gitdir: join(folder, '.git') }, commit };
}

type Started = ReturnType<typeof startRepository>;

/** What a push of `to` over `from` brings. */
function objectsOf({ folder }: Started, from: string, to: string): Map<string, GitObject> {
  const listed = git(folder, 'rev-list', '--objects', to, `^${from}`).split('\n');
  const input = listed.map((line) => `${line.slice(0, 40)}\n`).join('');
  return readBatch(execFileSync('git', ['-C', folder, 'cat-file', '--batch'], { input }));
}

async function filesOf({ repository }: Started, id: string) {
  const { files, faults } = await listTree(repository, id, { maxFiles: 100, maxBytes: 1_000_000 });
  expect(faults).toEqual([]);
  return new Map(files.map(({ path, sha, executable }) => [path, { sha, executable: executable || undefined }]));
}

async function readOver(started: Started, from: string, to: string, drop?: (id: string) => boolean) {
  const objects = objectsOf(started, from, to);
  for (const id of [...objects.keys()]) if (drop?.(id)) objects.delete(id);
  const found = readKnownCommit({ ...started.repository, objects }, to, {
    id: from,
    files: await filesOf(started, from),
  });
  return (
    found &&
    new Map([...found.files].map(([path, { sha, executable }]) => [path, { sha, executable: executable || undefined }]))
  );
}

const tree = fc.dictionary(
  fc.constantFrom('a.md', 'b/a.md', 'b/c/a.md', 'b/c/d.md', 'e/c/a.md', 'e/c/d.md', 'f.md', 'b.md', 'ä/ü.md'),
  fc.constantFrom('one', 'two', '#!/bin/sh'),
  { minKeys: 1 },
);

test('a commit over a known one has the files that git lists, whatever changed: contents, modes, folders that moved', async () => {
  await fc.assert(
    fc.asyncProperty(tree, tree, tree, async (first, second, third) => {
      const started = startRepository();
      const from = started.commit(first);
      started.commit(second);
      const to = started.commit(third);
      expect(await readOver(started, from, to)).toEqual(await filesOf(started, to));
    }),
    runs(12),
  );
});

test('security 13: a commit of which anything is missing is not said to be whole, whichever object it is', async () => {
  const started = startRepository();
  const from = started.commit({ 'a.md': 'a', 'b/c/d.md': 'd' });
  started.commit({ 'a.md': 'between', 'b/c/d.md': 'd' });
  const to = started.commit({ 'a.md': 'new', 'b/c/d.md': 'other', 'b/e.md': 'e' });
  const ids = [...objectsOf(started, from, to).keys()];
  expect(ids.length).toBeGreaterThan(8);
  for (const id of ids) expect(await readOver(started, from, to, (each) => each === id), id).toBeNull();
});

test.each<[string, (started: Started) => void]>([
  ['a link', ({ folder }) => index(folder, '120000', blob(folder, 'a.md'), 'link')],
  ['a submodule', ({ folder }) => index(folder, '160000', git(folder, 'rev-parse', 'HEAD'), 'module')],
])('%s is left to git to find', async (_, stage) => {
  const started = startRepository();
  const from = started.commit({ 'a.md': 'a' });
  const to = started.commit({ 'a.md': 'b' }, () => stage(started));
  expect(await readOver(started, from, to)).toBeNull();
});

test('security 14: trees within trees that describe more than anyone has are left to git, at once', async () => {
  const started = startRepository();
  const from = started.commit({ 'a.md': 'a' });
  let id = makeTree(started.folder, `100644 blob ${blob(started.folder, 'b')}\tf\n`);
  for (let depth = 0; depth < 8; depth += 1)
    id = makeTree(started.folder, Array.from({ length: 10 }, (_, n) => `040000 tree ${id}\td${n}\n`).join(''));
  const to = git(started.folder, 'commit-tree', '-m', 'x', '-p', from, id);
  expect(await readOver(started, from, to)).toBeNull();
});

test('an empty folder, a history without the known commit, and a commit that is none are left to git', async () => {
  const started = startRepository();
  const from = started.commit({ 'a.md': 'a' });
  const empty = makeTree(started.folder, '');
  const hollow = makeTree(started.folder, `040000 tree ${empty}\td\n`);
  const to = git(started.folder, 'commit-tree', '-m', 'x', '-p', from, hollow);
  expect(await readOver(started, from, to)).toBeNull();
  const other = startRepository();
  const alone = other.commit({ 'b.md': 'of another' });
  const after = other.commit({ 'a.md': 'b' });
  const files = await filesOf(started, from);
  const objects = objectsOf(other, alone, after);
  expect(readKnownCommit({ gitdir: home, objects }, after, { id: from, files })).toBeNull();
  const [tree] = [...objects].find(([, { type }]) => type === 'tree') ?? [];
  expect(readKnownCommit({ gitdir: home, objects }, tree ?? '', { id: alone, files })).toBeNull();
  expect(readKnownCommit({ gitdir: home }, after, { id: alone, files })).toBeNull();
});

const blob = (folder: string, text: string): string =>
  execFileSync('git', ['-C', folder, 'hash-object', '-w', '--stdin'], { input: text, encoding: 'utf8' }).trim();
const makeTree = (folder: string, entries: string): string =>
  execFileSync('git', ['-C', folder, 'mktree'], { input: entries, encoding: 'utf8' }).trim();
const index = (folder: string, mode: string, id: string, path: string): string =>
  git(folder, 'update-index', '--add', '--cacheinfo', `${mode},${id},${path}`);
