import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { distDir } from '../src/platform/db/index.js';
import { freePort } from '../src/platform/embedded/index.js';
import { startServers } from './servers.js';
import { type Service, startService } from './service.js';

/** Files of the workspace, revisions of its history, and how often each thing is done; the middle one counts. */
const FILES = 2_000;
const REVISIONS = 1_000;
const TIMES = 7;

const exec = promisify(execFile);
const home = mkdtempSync(join(tmpdir(), 'signalbox-bench-git-'));
const closers: (() => Promise<void> | void)[] = [() => rmSync(home, { recursive: true, force: true })];

async function git(folder: string, ...args: readonly string[]): Promise<string> {
  const who = ['-c', 'user.name=Bench', '-c', 'user.email=bench@example.com', '-c', 'init.defaultBranch=main'];
  const { stdout } = await exec('git', ['-C', folder, ...who, ...args], { maxBuffer: 64 * 1024 * 1024 });
  return stdout.trim();
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

const middle = (times: readonly number[]): number => [...times].sort((a, b) => a - b)[times.length >> 1] ?? 0;

const noteOf = (n: number): string => `knowledge/part-${n % 20}/note-${n}.md`;
const bodyOf = (n: number, version: number): string =>
  `# Note ${n}\n\nVersion ${version}.\n\n${`Some words of note ${n}. `.repeat(12)}\n`;

/** So many files in the clone, and one commit of them. */
async function writeFiles(folder: string): Promise<void> {
  for (let n = 0; n < FILES - 2; n += 1) {
    mkdirSync(dirname(join(folder, noteOf(n))), { recursive: true });
    writeFileSync(join(folder, noteOf(n)), bodyOf(n, 0));
  }
  await git(folder, 'add', '-A');
  await git(folder, 'commit', '-qm', 'All notes');
}

/** Each a revision of its own, live with its answer; answers how long each took. */
async function editOften({ url, key }: Service, times: number): Promise<number[]> {
  const taken: number[] = [];
  for (let version = 1; version <= times; version += 1) {
    const n = version % (FILES - 2);
    const body = JSON.stringify({ path: noteOf(n), content: bodyOf(n, version) });
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    taken.push(
      await timed(async () => {
        const response = await fetch(`${url}/api/workspaces/bench/source`, { method: 'PUT', headers, body });
        if (!response.ok) throw new Error(await response.text());
        await response.arrayBuffer();
      }),
    );
  }
  return taken;
}

interface Remote {
  readonly name: string;
  readonly url: string;
  readonly clones: number[];
  readonly pushes: number[];
  /** The clone that pushes. */
  readonly folder: string;
}

async function measure(remotes: readonly Remote[]): Promise<void> {
  for (let n = 0; n < TIMES; n += 1) {
    for (const remote of remotes) {
      const target = join(home, `${remote.name}-clone-${n}`);
      remote.clones.push(await timed(() => git(home, 'clone', '-q', remote.url, target)));
      rmSync(target, { recursive: true, force: true });
      writeFileSync(join(remote.folder, 'knowledge/part-1/note-1.md'), `# Note 1\n\nPushed ${n}.\n`);
      await git(remote.folder, 'commit', '-qam', `Push ${n}`);
      remote.pushes.push(await timed(() => git(remote.folder, 'push', '-q', 'origin', 'main')));
    }
  }
}

async function main(): Promise<void> {
  const servers = await startServers();
  closers.push(() => servers.stop());
  const service = await startService(distDir, servers.dataDir, servers.env);
  closers.push(() => service.stop());
  const files = [
    { path: 'AGENTS.md', content: '---\ndescription: Notes\n---\n' },
    { path: 'agents/worker.md', content: '---\ndescription: Works.\n---\n\nYou work.\n' },
  ];
  await service.call('/api/workspaces', { name: 'bench', files });
  const url = `${service.url.replace('://', `://x:${service.key}@`)}/git/main/bench.git`;
  const folder = join(home, 'ours');
  await git(home, 'clone', '-q', url, folder);
  await writeFiles(folder);
  const first = await timed(() => git(folder, 'push', '-q', 'origin', 'main'));
  const edits = await editOften(service, REVISIONS);
  await git(folder, 'pull', '-q', '--ff-only', 'origin', 'main');

  const plain = join(home, 'plain.git');
  await git(home, 'clone', '-q', '--mirror', url, plain);
  const port = await freePort();
  const daemon = spawn(
    'git',
    [
      'daemon',
      '--export-all',
      '--enable=receive-pack',
      `--base-path=${home}`,
      '--listen=127.0.0.1',
      `--port=${port}`,
      home,
    ],
    { stdio: 'ignore' },
  );
  closers.push(() => void daemon.kill());
  const beside = join(home, 'beside');
  const plainUrl = `git://127.0.0.1:${port}/plain.git`;
  for (let tries = 0; ; tries += 1) {
    const failed = await git(home, 'clone', '-q', plainUrl, beside).then(
      () => null,
      (error: unknown) => error,
    );
    if (failed === null) break;
    if (tries > 50) throw failed;
    await wait(100);
  }
  const ours: Remote = { name: 'Signalbox', url, folder, clones: [], pushes: [] };
  const theirs: Remote = { name: 'git daemon', url: plainUrl, folder: beside, clones: [], pushes: [] };
  await measure([ours, theirs]);
  const row = (what: string, a: readonly number[], b: readonly number[] | null): string =>
    `| ${what} | ${middle(a).toFixed(0)} ms | ${b ? `${middle(b).toFixed(0)} ms; ${(middle(a) / middle(b)).toFixed(2)} ×` : ''} |\n`;
  process.stdout.write(
    `${FILES} files, ${REVISIONS} revisions, the middle of ${TIMES}\n\n| Figure | Signalbox | git daemon; ratio |\n|---|---|---|\n` +
      row('clone', ours.clones, theirs.clones) +
      row('push of one change, checked and live', ours.pushes, theirs.pushes) +
      row(`edit of one file by the API, of ${REVISIONS}`, edits, null) +
      row('first push of all of it', [first], null),
  );
}

async function close(): Promise<void> {
  for (const one of closers.splice(0).reverse()) await one();
}
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void close().then(() => process.exit(1)));
try {
  await main();
} finally {
  await close();
}
