import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import { openQuarantine, receivePack, repositoryFolder } from '../../src/git/index.js';
import { PUSH_LIMITS } from '../../src/git/receive-pack.js';
import { commitAll, createRemoteApp, git, type RemoteApp, runGit } from '../support/git-remote.js';
import { noise } from '../support/noise.js';
import { bodyOf, SMALL } from '../support/workspace-app.js';

let app: RemoteApp;
let at: { readonly name: string; readonly id: string; readonly clone: string };
beforeAll(async () => {
  app = await createRemoteApp();
  at = await app.start();
});

interface Entry {
  readonly mode: string;
  readonly name: string | Buffer;
  readonly id: string;
}

/** Writes an object whatever is in it, as no git of a person would. */
function writeObject(kind: 'blob' | 'tree' | 'commit', body: Buffer | string): string {
  const whole = Buffer.concat([Buffer.from(`${kind} ${Buffer.byteLength(body)}\0`), Buffer.from(body as string)]);
  const id = createHash('sha1').update(whole).digest('hex');
  const folder = join(at.clone, '.git/objects', id.slice(0, 2));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, id.slice(2)), deflateSync(whole), { flag: 'w', mode: 0o644 });
  return id;
}

function writeTree(entries: readonly Entry[]): string {
  const body = entries.flatMap(({ mode, name, id }) => [
    Buffer.from(`${mode} `),
    Buffer.from(name as string),
    Buffer.from([0]),
    Buffer.from(id, 'hex'),
  ]);
  return writeObject('tree', Buffer.concat(body));
}

async function writeCommit(tree: string, ...parents: readonly string[]): Promise<string> {
  const who = 'Eve <eve@example.com> 1700000000 +0000';
  const before = parents.length > 0 ? parents : [await git(at.clone, 'rev-parse', 'origin/main')];
  const lines = before.map((parent) => `parent ${parent}\n`).join('');
  return writeObject('commit', `tree ${tree}\n${lines}author ${who}\ncommitter ${who}\n\nHostile\n`);
}

const file = (name: string | Buffer, text = 'x\n', mode = '100644'): Entry => ({
  mode,
  name,
  id: writeObject('blob', text),
});

/** The plain files of the workspace and these. */
async function treeWith(...more: readonly Entry[]): Promise<string> {
  const lines = (await git(at.clone, 'ls-tree', 'origin/main')).split('\n');
  const plain = lines.map((line): Entry => {
    const [, mode = '', id = '', name = ''] = /^(\d+) \w+ ([0-9a-f]+)\t(.*)$/.exec(line) ?? [];
    return { mode: mode.replace(/^0/, ''), id, name };
  });
  const key = ({ mode, name }: Entry) =>
    Buffer.concat([Buffer.from(name as string), Buffer.from(mode === '40000' ? '/' : '')]);
  return writeTree([...plain, ...more].sort((a, b) => Buffer.compare(key(a), key(b))));
}

async function pushTree(tree: string, ref = 'main'): Promise<{ readonly code: number; readonly err: string }> {
  const commit = await writeCommit(tree);
  return runGit(at.clone, 'push', 'origin', `${commit}:refs/heads/${ref}`);
}

/** After each push the workspace is what it was, the repository whole, and the next good push works. */
async function expectUsable(): Promise<void> {
  const live = await app.readTree(at.name);
  expect(live).toMatchObject(SMALL);
  const repository = repositoryFolder(app.deps.config.dataDir, at.id);
  expect(await git(repository, 'fsck', '--full', '--strict', '--no-dangling')).toBe('');
  expect(await git(repository, 'for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
  await git(at.clone, 'fetch', '-q', 'origin');
  await git(at.clone, 'reset', '-q', '--hard', 'origin/main');
  await commitAll(at.clone, 'Next');
  expect((await runGit(at.clone, 'push', 'origin', 'HEAD:main')).err).toMatch(/main -> main|HEAD -> main/);
  await expect.poll(() => readdirSync(join(repository, 'quarantine'))).toEqual([]);
}

const LONG = 'n'.repeat(5_000);
const HOSTILE: readonly (readonly [string, RegExp, () => readonly Entry[]])[] = [
  ['a symbolic link', /link.md:1:1 file\/symlink/, () => [file('link.md', '/etc/passwd', '120000')]],
  ['a submodule', /sub:1:1 file\/submodule/, () => [{ mode: '160000', name: 'sub', id: '1'.repeat(40) }]],
  ['a backslash', /file\/bad-path.*backslash/, () => [file('a\\b.md')]],
  [
    'a control character, which does not reach the terminal',
    /a\\u\{1b\}\[31mb\.md:1:1 file\/bad-path.*control/,
    () => [file('a\u001b[31mb.md')],
  ],
  ['a line end', /a\\u\{a\}remote: b\.md:1:1 file\/bad-path/, () => [file('a\nremote: b.md')]],
  ['twins but for case', /tree\/case-twin/, () => [file('Twin.md'), file('twin.md')]],
  ['twins but for Unicode form', /file\/bad-path.*NFC/, () => [file('e\u0301.md'), file('\u00e9.md')]],
  ['a name of 5,000 bytes', /file\/bad-path.*bytes/, () => [file(LONG)]],
  ['a name that is no UTF-8', /file\/bad-path.*UTF-8/, () => [file(Buffer.from([0x61, 0xff, 0x2e, 0x6d, 0x64]))]],
  [
    'a folder for git',
    /hasDotgit|contains .*\.git/i,
    () => [{ mode: '40000', name: '.git', id: writeTree([file('config')]) }],
  ],
  ['a file mode of long ago', /tree\/not-files.*file mode/, () => [file('old.md', 'x\n', '100664')]],
  ['two entries of one name', /duplicateEntries|duplicate/i, () => [file('twice.md', '1\n'), file('twice.md', '2\n')]],
  ['an empty folder', /tree\/not-files.*empty folder/, () => [{ mode: '40000', name: 'empty', id: writeTree([]) }]],
  [
    'a pointer of git LFS',
    /big\.md:1:1 file\/lfs-pointer/,
    () => [file('big.md', 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n')],
  ],
  ['a path that is the service’s', /tree\/protected-path/, () => [file('secrets.json', '{}')]],
  ['a file of 300 KiB', /file\/too-large/, () => [file('large.md', 'x'.repeat(300 * 1024))]],
  [
    'a file of YAML that goes round in circles',
    /yaml\/alias|bad-value|yaml/,
    () => [
      file('AGENTS.md2', 'x'),
      { mode: '40000', name: 'evals', id: writeTree([file('x.md', '---\na: &a [*a]\n---\n')]) },
    ],
  ],
];

test.each(HOSTILE)(
  'security 13: a tree with %s is refused, and the repository stays usable',
  async (_what, says, entries) => {
    const { code, err } = await pushTree(await treeWith(...entries()));
    expect(code).toBe(1);
    expect(err).toMatch(says);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not come
    expect(err).not.toMatch(/\u001b\[31m/);
    const branch = await pushTree(await treeWith(...entries()), 'other');
    expect(branch.code).toBe(1);
    await expectUsable();
  },
);

/** Ten objects that describe 10^8 paths. */
function bombOf(leaf: Entry): Entry {
  let tree = writeTree(Array.from({ length: 10 }, (_, i): Entry => ({ ...leaf, name: `a${i}` })));
  for (let depth = 0; depth < 7; depth += 1)
    tree = writeTree(Array.from({ length: 10 }, (_, i): Entry => ({ mode: '40000', name: `d${i}`, id: tree })));
  return { mode: '40000', name: 'bomb', id: tree };
}

test.each(['file', 'folder'])(
  'security 13: a tree of ten objects that describes 10^8 paths of a %s is refused at once',
  async (what) => {
    const leaf: Entry = what === 'file' ? file('a.md') : { mode: '40000', name: 'a', id: writeTree([]) };
    for (const ref of ['main', 'other']) {
      const { code, err } = await pushTree(await treeWith(bombOf(leaf)), ref);
      expect([code, err]).toEqual([1, expect.stringMatching(/tree\/too-large/)]);
    }
    const commit = await writeCommit(await treeWith(bombOf(leaf)));
    expect((await runGit(at.clone, 'push', 'origin', `${commit}:refs/tags/bomb`)).err).toMatch(/tree\/too-large/);
    await expectUsable();
  },
);

test('security 13: what older commits of a push hold no door takes: not by their hash, as a branch or a tag, compared or merged', async () => {
  const bomb = await writeCommit(await treeWith(bombOf(file('a.md'))));
  const link = await writeCommit(await treeWith(file('link.md', '/etc/passwd', '120000')), bomb);
  const newest = await writeCommit(await treeWith(file('notes.md', 'main')), link);
  expect((await runGit(at.clone, 'push', 'origin', `${newest}:refs/heads/main`)).code).toBe(0);
  const repo = `/api/workspaces/${at.name}/repo`;
  const act = async (body: object) => {
    const response = await app.post(repo, body);
    return [response.status, await bodyOf(response)] as const;
  };
  for (const [ref, code] of [
    [bomb, 'tree/too-large'],
    [link, 'file/symlink'],
  ] as const) {
    expect(await act({ action: 'deploy', ref })).toMatchObject([422, { issues: [{ code }] }]);
    for (const name of ['refs/heads/old', 'refs/tags/old']) {
      const pushed = await runGit(at.clone, 'push', 'origin', `${ref}:${name}`);
      expect([name, pushed.code, pushed.err]).toEqual([name, 1, expect.stringContaining(code)]);
    }
  }
  // A branch that parted there: what they have in common is the tree of 10^8 paths.
  const side = await writeCommit(await treeWith(file('side.md', 'side')), bomb);
  expect((await runGit(at.clone, 'push', 'origin', `${side}:refs/heads/side`)).code).toBe(0);
  const compared = await app.get(`${repo}?branch=side`);
  expect([compared.status, await bodyOf(compared)]).toMatchObject([413, { error: expect.stringMatching(/fetch it/) }]);
  expect(await act({ action: 'merge', branch: 'side' })).toMatchObject([422, { code: 'repo/base-too-large' }]);
  expect((await act({ action: 'delete-branch', branch: 'side' }))[0]).toBe(200);
  await expectUsable();
});

test('security 13: branches that have merged each other over a tree of 10^8 paths are told why they cannot be merged, and the others go on', async () => {
  const base = await git(at.clone, 'rev-parse', 'origin/main');
  // Each merge has two newest commits that it shares with the other: git merges those first, over what they come from.
  const bomb = await writeCommit(await treeWith(bombOf(file('a.md'))), base);
  const clean = (name: string) => treeWith(file(`${name}.md`, name));
  const [left, right] = [await writeCommit(await clean('left'), bomb), await writeCommit(await clean('right'), bomb)];
  const main = await writeCommit(await treeWith(file('left.md', 'left'), file('right.md', 'main')), left, right);
  const side = await writeCommit(await treeWith(file('left.md', 'side'), file('right.md', 'right')), right, left);
  const ordinary = await writeCommit(await treeWith(file('ordinary.md')), main);
  const refs = [`${main}:refs/heads/main`, `${side}:refs/heads/side`, `${ordinary}:refs/heads/ordinary`];
  for (const ref of refs) expect(await runGit(at.clone, 'push', 'origin', ref)).toMatchObject({ code: 0 });
  const repo = `/api/workspaces/${at.name}/repo`;
  const merged = await app.post(repo, { action: 'merge', branch: 'side' });
  expect([merged.status, await bodyOf(merged)]).toEqual([
    422,
    { code: 'repo/incomparable', error: expect.stringMatching(/^the two cannot be compared, because .*: rebase/) },
  ]);
  const compared = await app.get(`${repo}?branch=side`);
  expect([compared.status, await bodyOf(compared)]).toMatchObject([200, { ahead: 1, behind: 1 }]);
  expect(await bodyOf(app.get(repo))).toMatchObject({
    branches: [
      { name: 'main', commit: main },
      { name: 'ordinary', ahead: 1, behind: 0 },
      { name: 'side', ahead: 1, behind: 1 },
    ],
  });
  expect((await app.post(repo, { action: 'merge', branch: 'ordinary' })).status).toBe(200);
  for (const branch of ['side', 'ordinary'])
    expect((await app.post(repo, { action: 'delete-branch', branch })).status).toBe(200);
  await expectUsable();
});

test('security 13: 300 MiB that come in as 300 KiB are refused by their size unpacked', async () => {
  const big = writeObject('blob', Buffer.alloc(300 * 1024 * 1024));
  const { code, err } = await pushTree(await treeWith({ mode: '100644', name: 'zeros.bin', id: big }));
  expect(code).toBe(1);
  expect(err).toMatch(/bytes unpacked; the most is/);
  await expectUsable();
});

test('a push that is too long is read to its end and told so', async () => {
  const clone = await app.clone(at.name);
  writeFileSync(join(clone, 'long.bin'), noise(3 * 1024 * 1024));
  await commitAll(clone);
  await git(clone, 'repack', '-q', '-a', '-d');
  const folder = join(clone, '.git/objects/pack');
  const pack = readFileSync(join(folder, readdirSync(folder).find((name) => name.endsWith('.pack')) ?? ''));
  let read = 0;
  async function* body(): AsyncGenerator<Buffer> {
    for (; read < pack.byteLength; read += 65_536) yield pack.subarray(read, read + 65_536);
  }
  const quarantine = await openQuarantine({ gitdir: repositoryFolder(app.deps.config.dataDir, at.id) });
  const limits = { ...PUSH_LIMITS, packBytes: 1024 * 1024 };
  const taken = receivePack(quarantine, body(), { limits });
  await expect(taken).rejects.toThrow('the push has more than 1 MiB, which is the limit');
  expect(read).toBeGreaterThanOrEqual(pack.byteLength);
  await quarantine.remove();
});

test('a push of too many refs is told so', async () => {
  const commit = await git(at.clone, 'rev-parse', 'origin/main');
  const refs = Array.from({ length: 600 }, (_, n) => `create refs/tags/many-${n} ${commit}\n`);
  writeFileSync(join(at.clone, '.git/refs.txt'), refs.join(''));
  await git(at.clone, '-c', `alias.make=!git update-ref --stdin < .git/refs.txt`, 'make');
  const many = await runGit(at.clone, 'push', 'origin', '--tags');
  await git(
    at.clone,
    '-c',
    `alias.drop=!sed -E 's/^create ([^ ]+) .*/delete \\1/' .git/refs.txt | git update-ref --stdin`,
    'drop',
  );
  expect([many.code, many.err]).toEqual([1, expect.stringContaining('the push has 600 refs, the most is 500')]);
  await expectUsable();
});

/** What no git would send, over a plain socket of curl's kind. */
async function post(body: Buffer, headers: Record<string, string> = {}): Promise<{ status: number; text: string }> {
  const authorization = `Basic ${Buffer.from(`x:${app.key}`).toString('base64')}`;
  const response = await fetch(`${app.base}/git/${app.tenant}/${at.name}.git/git-receive-pack`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/x-git-receive-pack-request', ...headers },
    body: new Uint8Array(body),
  });
  return { status: response.status, text: await response.text() };
}

const line = (text: string): string => (Buffer.byteLength(text) + 4).toString(16).padStart(4, '0') + text;
const NONE = '0'.repeat(40);

test('security 13: what is no push is refused with a reason, cut, too long, or made up', async () => {
  const head = line(`${NONE} ${'1'.repeat(40)} refs/heads/x\0report-status side-band-64k`);
  // More than the sockets between hold: whoever is not read to the end never hears why.
  const long = Buffer.alloc(24 * 1024 * 1024, 'x');
  const cases: readonly (readonly [string, Buffer, RegExp])[] = [
    ['words', Buffer.from('hello there'), /git’s protocol/],
    ['a cut packet', Buffer.from('00ffabc'), /cut off/],
    ['no pack', Buffer.from(`${head}0000`), /no pack/],
    [
      'a pack that is none',
      Buffer.from(`${head}0000PACK\0\0\0\x02\0\0\0\x01rubbish-rubbish-rubbish-rubbish`),
      /unpack .*(pack|object|inflate)/,
    ],
    [
      'a pack with a million objects',
      Buffer.concat([Buffer.from(`${head}0000PACK\0\0\0\x02`), Buffer.from([0, 16, 0, 0]), long]),
      /unpack the push has 1048576 objects, the most is/,
    ],
    [
      'a long pack that is none from its first object on',
      Buffer.concat([Buffer.from(`${head}0000PACK\0\0\0\x02\0\0\0\x01`), long]),
      /unpack .*(pack|object|inflate)/,
    ],
    ['a ref that is none', Buffer.from(`${line(`${NONE} ${'1'.repeat(40)} `)}0000`), /not a ref update/],
  ];
  for (const [what, body, says] of cases) {
    const { status, text } = await post(body);
    expect([what, status < 500, text]).toEqual([what, true, expect.stringMatching(says)]);
  }
  // What git sends to see whether it is let in.
  expect(await post(Buffer.from('0000'))).toMatchObject({ status: 200 });
  expect((await post(Buffer.from('0000'), { 'content-encoding': 'br' })).status).toBe(415);
  await expectUsable();
});

test('security 13: a ref may be none that a disk, a terminal or another git takes for something else', async () => {
  const commit = await git(at.clone, 'rev-parse', 'origin/main');
  const names = [
    'refs/heads/../main',
    'refs/heads/a..b',
    'refs/heads/.a',
    'refs/heads/a.lock',
    'refs/heads/a//b',
    'refs/heads/-\u001b[31m',
    `refs/heads/${'x'.repeat(300)}`,
    'refs/heads/main/x',
    'refs/heads/HEAD',
    'refs/heads/e\u0301',
    'HEAD',
    'refs/service/memory',
    'config',
    'hooks/pre-receive',
  ];
  for (const name of names) {
    const pack = Buffer.from('5041434b0000000200000000029d08823bd8a8eab510ad6ac75c823cfd3ed31e', 'hex');
    const { status, text } = await post(
      Buffer.concat([Buffer.from(`${line(`${NONE} ${commit} ${name}\0report-status`)}0000`), pack]),
    );
    expect([name, status, text]).toEqual([name, 200, expect.stringContaining('ng ')]);
  }
  await expectUsable();
});

test('security 13: a client that leaves half-way holds nothing', async () => {
  const { port } = new URL(app.base);
  const authorization = `Basic ${Buffer.from(`x:${app.key}`).toString('base64')}`;
  const head = `POST /git/${app.tenant}/${at.name}.git/git-receive-pack HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nContent-Length: 100000\r\n\r\n`;
  const body = `${line(`${NONE} ${'1'.repeat(40)} refs/heads/x\0report-status`)}0000PACK\0\0\0\x02\0\0\0\x05abc`;
  const children = Array.from({ length: 6 }, () => {
    const child = spawn(process.execPath, [
      '-e',
      `const s=require('net').connect(${port},'127.0.0.1');s.write(Buffer.from(process.argv[1],'base64'),()=>setTimeout(()=>process.exit(),300))`,
      Buffer.from(head + body, 'latin1').toString('base64'),
    ]);
    return new Promise((resolve) => child.once('close', resolve));
  });
  await Promise.all(children);
  await expectUsable();
});
