import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { treeOfArchive } from '../../src/remotes/code-host/archive/tree-of-archive.js';
import { noise } from '../support/noise.js';
import { fc, runs } from '../support/properties.js';
import { archiveOf, gzippedTar, pax, type TarPart, tarOf } from '../support/tar.js';

const COMMIT = 'a'.repeat(40);
const LIMITS = { maxBytes: 4 * 1024 * 1024, maxEntries: 500, maxFiles: 100, maxFileBytes: 1024 * 1024 };

async function read(
  packed: Uint8Array,
  { dir = '', limits = {}, piece = 65_536 } = {},
): Promise<Record<string, string>> {
  const { files } = await treeOfArchive(inPieces(packed, piece), {
    dir,
    commit: COMMIT,
    limits: { ...LIMITS, ...limits },
  });
  return Object.fromEntries(files.map(({ path, content }) => [path, Buffer.from(content).toString()]));
}

function inPieces(bytes: Uint8Array, size: number): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at + size));
      at += size;
    },
  });
}

const FILES = { 'AGENTS.md': '# Desk\n', 'agents/writer.md': 'x'.repeat(2_000), 'knowledge/日本語/ä.md': 'ü' };

test('what git archive makes is read, whole and a folder of it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-archive-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const long = `deep/${'n'.repeat(90)}/${'m'.repeat(90)}/file.md`;
  const files = {
    ...FILES,
    [long]: 'long',
    'ops/desk/AGENTS.md': 'inner',
    'ops/desk/flows/a.md': 'a',
    'ops/desk/run.sh': '#!',
  };
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content, { mode: content.startsWith('#!') ? 0o755 : 0o644 });
  }
  await symlink('/etc/passwd', join(folder, 'outside.md'));
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.com', ...args], { cwd: folder });
  git('init', '-q');
  git('add', '-A');
  git('commit', '-qm', 'One');
  const commit = git('rev-parse', 'HEAD').toString().trim();
  const archive = git('archive', '--format=tar.gz', '--prefix=desk-abc/', 'HEAD');
  const inner = await treeOfArchive(inPieces(archive, 1_000), { dir: 'ops/desk', commit, limits: LIMITS });
  expect([...inner.executable]).toEqual(['run.sh']);
  expect(inner.files.map(({ path }) => path).sort()).toEqual(['AGENTS.md', 'flows/a.md', 'run.sh']);
  const deep = await treeOfArchive(inPieces(archive, 1_000), { dir: 'deep', commit, limits: LIMITS });
  expect(deep.files.map(({ path }) => `deep/${path}`)).toEqual([long]);
  await expect(treeOfArchive(inPieces(archive, 1_000), { dir: '', commit, limits: LIMITS })).rejects.toThrow(
    'outside.md is a symbolic link: a workspace holds files only',
  );
  await expect(treeOfArchive(inPieces(archive, 1_000), { dir: 'ops', commit: COMMIT, limits: LIMITS })).rejects.toThrow(
    `the archive is of ${commit}, and ${COMMIT} was asked for`,
  );
});

test('an archive is the same in whatever pieces it comes, packed or not', () =>
  fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 5_000 }), fc.boolean(), async (piece, isPacked) => {
      const parts = Object.entries(FILES).map(([path, content]) => ({ path: `top/${path}`, content }));
      expect(await read(isPacked ? gzippedTar(parts) : tarOf(parts), { piece })).toEqual(FILES);
    }),
    runs(30),
  ));

test('a mode that is none marks no program, and keeps no archive out', async () => {
  const parts = ['', 'what', '8888888', '0000777'].map((mode, at) => ({ path: `t/${at}.sh`, content: 'x', mode }));
  const { files, executable } = await treeOfArchive(inPieces(gzippedTar(parts), 512), {
    ...{ dir: '', commit: COMMIT, limits: LIMITS },
  });
  expect([files.length, [...executable]]).toEqual([4, ['3.sh']]);
});

test('names come by ustar’s prefix, by pax and by GNU’s long names', async () => {
  const long = `${'d'.repeat(80)}/${'e'.repeat(80)}/f.md`;
  const archive = tarOf([
    { path: 'top/', type: '5' },
    { path: 'c.md', prefix: 'top/a', content: 'prefix' },
    { path: 'PaxHeader', type: 'x', content: pax('path', `top/${long}`) + pax('mtime', '1.5') },
    { path: 'short', content: 'pax' },
    { path: '././@LongLink', type: 'L', content: `top/x/${long}\0` },
    { path: 'short', content: 'gnu', magic: 'ustar  ' },
    { path: 'PaxHeader', type: 'x', content: pax('size', '3') },
    { path: 'top/size.md', content: 'siz', size: 0 },
  ]);
  expect(await read(archive)).toEqual({ 'a/c.md': 'prefix', [long]: 'pax', [`x/${long}`]: 'gnu', 'size.md': 'siz' });
});

const file = (path: string): TarPart => ({ path, content: 'x' });

test.each<[string, readonly TarPart[], RegExp]>([
  ['a path out of the folder', [file('top/../../etc/passwd')], /has an empty, "\." or "\.\." part/],
  ['a path out of the archive', [file('../etc/passwd')], /not of one folder/],
  ['an absolute path', [file('/etc/passwd')], /not of one folder/],
  ['two folders', [file('top/a.md'), file('other/b.md')], /not of one folder/],
  ['a backslash', [file('top/a\\b.md')], /holds a backslash/],
  ['a folder of git', [file('top/.git/config')], /git keeps for itself/],
  ['a control character', [file('top/a\u0007.md')], /control character/],
  ['a name that is no UTF-8', [{ path: 'x', type: 'x', content: '' }, file('top/\uFFFD.md')], /not in UTF-8/],
  ['a symbolic link', [{ path: 'top/a', type: '2', link: '/etc/passwd' }], /a is a symbolic link/],
  ['a hard link', [{ path: 'top/a', type: '1', link: 'top/b' }], /a is a hard link/],
  ['a device', [{ path: 'top/a', type: '3' }], /a is a special file/],
  ['a pipe', [{ path: 'top/a', type: '6' }], /a is a special file/],
  ['a sparse file', [{ path: 'top/a', type: 'S' }], /unknown type, "S"/],
  ['a sparse file by pax', [{ path: 'p', type: 'x', content: pax('GNU.sparse.major', '1') }, file('top/a')], /sparse/],
  [
    'a path for all entries',
    [{ path: 'g', type: 'g', content: pax('path', 'top/evil.md') }, file('top/a')],
    /one path/,
  ],
  ['a pax record of no length', [{ path: 'p', type: 'x', content: '-5 a=b\n' }, file('top/a')], /pax header/],
  ['a pax record over its end', [{ path: 'p', type: 'x', content: '999 a=b\n' }, file('top/a')], /pax header/],
  ['an impossible pax size', [{ path: 'p', type: 'x', content: pax('size', '-1') }, file('top/a')], /impossible size/],
  ['a size that is no number', [{ ...file('top/a'), size: '00000000zzz\0' }], /size is not a number/],
  ['a size over what there is', [{ ...file('top/a'), size: 9_000 }], /ends early/],
  ['a size over the limit', [{ ...file('top/a'), size: 2 * 1024 * 1024 }], /more than 100 files or 1 MiB/],
  [
    'a huge size in binary',
    [{ ...file('top/a'), size: '\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff' }],
    /impossible size/,
  ],
  ['a name of a megabyte', [{ path: 'L', type: 'L', content: 'n'.repeat(1024 * 1024) }, file('top/a')], /65536 bytes/],
  ['too many entries', Array.from({ length: 501 }, (_, at) => file(`top/other/${at}`)), /more than 100 files/],
  ['nothing', [{ path: 'top/', type: '5' }], /no files/],
])('security 17: an archive with %s is refused', async (_name, parts, message) => {
  await expect(read(gzippedTar(parts))).rejects.toThrow(message);
});

test('security 17: entries are counted, and bytes as they are unpacked, wanted or not', async () => {
  const many = gzippedTar(Array.from({ length: 501 }, (_, at) => file(`top/other/${at}`)));
  await expect(read(many, { dir: 'mine' })).rejects.toThrow('more than 500 entries');
  const bomb = gzippedTar([{ path: 'top/zeros', content: Buffer.alloc(64 * 1024 * 1024) }, file('top/mine/a')]);
  expect(bomb.length).toBeLessThan(70_000);
  await expect(read(bomb, { dir: 'mine' })).rejects.toThrow('the archive holds more than 4 MiB');
});

test('security 17: what is packed twice is not unpacked twice', async () => {
  const inner = gzippedTar([{ path: 'top/a', content: noise(5_000) }]);
  await expect(read(gzipSync(inner))).rejects.toThrow('not a tar');
});

test('an archive that ends early, wherever, is refused', async () => {
  const whole = tarOf(
    Object.entries(FILES).map(([path, content]) => ({ path: `top/${path}`, content })),
    { end: false },
  );
  for (const length of [0, 1, 511, 512, 700, 1_024, whole.length - 1, whole.length])
    await expect(read(whole.subarray(0, length))).rejects.toThrow(/ends early/);
  await expect(read(archiveOf(FILES).subarray(0, 200))).rejects.toThrow(/unexpected end of file/);
});

test('what is no archive is refused', async () => {
  await expect(read(Buffer.from('<html>Not found</html>'.padEnd(600)))).rejects.toThrow('not a tar');
  await expect(read(noise(5_000))).rejects.toThrow();
});

test('outside of the folder that is wanted nothing is looked at but names', async () => {
  const archive = gzippedTar([
    { path: 'top/link', type: '2', link: '/etc/passwd' },
    { path: 'top/a\\b', content: 'x' },
    { path: 'top/minefield.md', content: 'x' },
    { path: 'top/mine/', type: '5' },
    { path: 'top/mine/a.md', content: 'a' },
    { path: 'top/other/../mine/b.md', content: 'b' },
  ]);
  expect(await read(archive, { dir: 'mine' })).toEqual({ 'a.md': 'a' });
  await expect(read(archive, { dir: 'yours' })).rejects.toThrow('the commit has no files in yours/');
});
