import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { alignRefs, linkPack, setRef, storePack } from '../../src/content/index.js';
import { adoptPack, makePack, openQuarantine, openRepository } from '../../src/git/index.js';
import type { TestApp } from './create-test-app.js';
import { atFileEnd } from './file-end.js';

const by = { kind: 'person', id: 'm1', label: 'ada@example.com' } as const;

/** The real git, as Ada. */
export function git(folder: string, ...args: string[]): string {
  const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', 'init.defaultBranch=main'];
  return execFileSync('git', ['-C', folder, ...who, ...args], {
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'ignore'],
  }).trim();
}

export interface Commits {
  /** The whole ref that is set: `refs/heads/next`. */
  readonly ref: string;
  /** Where it begins; main without it. */
  readonly from?: string;
  /** Files of one commit each, null removes one. */
  readonly commits: readonly Readonly<Record<string, string | null>>[];
  /** What is done in the clone before the last commit. */
  readonly prepare?: (clone: string) => void;
}

/**
 * Commits of the real git on a ref of a workspace, kept as those of a push are: a pack that is taken, and the ref's row.
 * Answers the last commit.
 */
export async function commitTo(
  app: TestApp,
  workspaceId: string,
  { ref, from = 'origin/main', commits, prepare }: Commits,
): Promise<string> {
  const repository = await alignRefs(app.deps, workspaceId);
  if (!repository) throw new Error('no such workspace');
  const clone = mkdtempSync(join(tmpdir(), 'signalbox-clone-'));
  atFileEnd(async () => rmSync(clone, { recursive: true, force: true }));
  execFileSync('git', ['clone', '-q', '--no-local', repository.gitdir, clone]);
  git(clone, 'checkout', '-q', '-B', 'work', from);
  const start = git(clone, 'rev-parse', 'HEAD');
  commits.forEach((files, at) => {
    for (const [path, text] of Object.entries(files)) write(clone, path, text);
    if (at === commits.length - 1) prepare?.(clone);
    git(clone, 'add', '-A');
    git(clone, 'commit', '-q', '--allow-empty', '-m', `Change ${Object.keys(files).join(', ')}`);
  });
  const head = git(clone, 'rev-parse', 'HEAD');
  await take(app, workspaceId, { gitdir: join(clone, '.git'), start, head, ref });
  return head;
}

function write(clone: string, path: string, text: string | null): void {
  mkdirSync(dirname(join(clone, path)), { recursive: true });
  if (text === null) rmSync(join(clone, path));
  else writeFileSync(join(clone, path), text);
}

async function take(
  app: TestApp,
  workspaceId: string,
  { gitdir, start, head, ref }: { gitdir: string; start: string; head: string; ref: string },
): Promise<void> {
  const quarantine = await openQuarantine({ gitdir });
  const kept = await makePack({ gitdir }, quarantine, { wants: [head], haves: [start] });
  const pack = await storePack(app.deps, workspaceId, kept);
  await adoptPack(await openRepository(app.deps.config.dataDir, workspaceId), kept);
  await app.deps.db.transaction(async (sql) => {
    await linkPack(sql, workspaceId, pack.id);
    await setRef(sql, { workspaceId, name: ref, oid: head, by });
  });
}
