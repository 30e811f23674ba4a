import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { distDir } from '../src/db/index.js';
import { freePort } from '../src/embedded/index.js';
import { startServers } from './servers.js';
import { startService } from './service.js';

/** Files of the workspace, commits of its history, and how often each thing is done; the middle one counts. */
const FILES = 2_000;
const COMMITS = 1_000;
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

/** A repository of that many files whose history changes one of them a commit, on top of what the workspace has. */
async function writeHistory(folder: string): Promise<void> {
  const parent = await git(folder, 'rev-parse', 'HEAD');
  const lines: string[] = [];
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`;
  const body = (n: number, version: number) =>
    `# Note ${n}\n\nVersion ${version}.\n\n${`Some words of note ${n}. `.repeat(12)}\n`;
  for (let commit = 0; commit < COMMITS; commit += 1) {
    lines.push(
      `commit refs/heads/main\ncommitter Bench <bench@example.com> ${1_700_000_000 + commit} +0000\n${data(`Commit ${commit}`)}`,
    );
    if (commit === 0) lines.push(`from ${parent}\n`);
    const changed = commit === 0 ? Array.from({ length: FILES - 2 }, (_, n) => n) : [commit % (FILES - 2)];
    for (const n of changed)
      lines.push(`M 100644 inline knowledge/part-${n % 20}/note-${n}.md\n${data(body(n, commit))}`);
  }
  const child = spawn('git', ['-C', folder, 'fast-import', '--quiet', '--force'], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  child.stdin.end(lines.join(''));
  await new Promise((resolve) => child.once('close', resolve));
  await git(folder, 'reset', '-q', '--hard', 'main');
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
  await writeHistory(folder);
  const first = await timed(() => git(folder, 'push', '-q', 'origin', 'main'));

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
  const edits: number[] = [];
  for (let n = 0; n < TIMES; n += 1)
    edits.push(
      await timed(async () => {
        const response = await fetch(`${service.url}/api/workspaces/bench/source`, {
          method: 'PUT',
          headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ path: 'knowledge/part-2/note-2.md', content: `# Note 2\n\nEdited ${n}.\n` }),
        });
        if (!response.ok) throw new Error(await response.text());
        await response.arrayBuffer();
      }),
    );
  const row = (what: string, a: readonly number[], b: readonly number[] | null): string =>
    `| ${what} | ${middle(a).toFixed(0)} ms | ${b ? `${middle(b).toFixed(0)} ms; ${(middle(a) / middle(b)).toFixed(2)} ×` : ''} |\n`;
  process.stdout.write(
    `${FILES} files, ${COMMITS} commits, the middle of ${TIMES}\n\n| Figure | Signalbox | git daemon; ratio |\n|---|---|---|\n` +
      row('clone', ours.clones, theirs.clones) +
      row('push of one change, checked and live', ours.pushes, theirs.pushes) +
      row('edit of one file by the API', edits, null) +
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
