import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from '../../src/api/app.js';
import { serveApi } from '../../src/api/index.js';
import { routes } from '../../src/api/routes/index.js';
import type { Deps } from '../../src/deps.js';
import type { TestApp, TestAppOptions } from './create-test-app.js';
import { atFileEnd } from './file-end.js';
import { createWorkspaceApp, SMALL, type Tree, type WorkspaceApp } from './workspace-app.js';

export interface Said {
  readonly code: number;
  readonly out: string;
  /** What git wrote to stderr, without the sideband's padding. */
  readonly err: string;
}

/** Runs the real git; a failure is an answer. */
export function runGit(folder: string, ...args: readonly string[]): Promise<Said> {
  return runGitWith({}, folder, ...args);
}

export async function runGitWith(
  env: Readonly<Record<string, string>>,
  folder: string,
  ...args: readonly string[]
): Promise<Said> {
  const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', 'init.defaultBranch=main'];
  const child = spawn('git', ['-C', folder, ...who, ...args], {
    env: {
      ...{ PATH: process.env.PATH ?? '', HOME: folder, GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0' },
      ...{ GIT_CONFIG_GLOBAL: '/dev/null', LC_ALL: 'C', ...env },
    },
  });
  const read = async (stream: NodeJS.ReadableStream): Promise<string> => {
    let text = '';
    for await (const part of stream) text += String(part);
    return text;
  };
  child.stdin.end();
  const ended = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? -1)));
  const [out, err, code] = await Promise.all([read(child.stdout), read(child.stderr), ended]);
  return { code, out: out.trim(), err: err.replace(/ +$/gm, '') };
}

/** As `runGit`, and answers what it said; throws when it fails. */
export async function git(folder: string, ...args: readonly string[]): Promise<string> {
  const { code, out, err } = await runGit(folder, ...args);
  if (code !== 0) throw new Error(`git ${args.join(' ')}: ${err}`);
  return out;
}

export interface Remotes {
  /** Where it listens. */
  readonly base: string;
  /** A folder for clones. */
  readonly home: string;
  /** The remote's address with a key in it; the app's own unless another is given. */
  url(workspace: string, key?: string): string;
  /** A fresh clone, and its folder. */
  clone(workspace: string, key?: string): Promise<string>;
}

export interface RemoteApp extends WorkspaceApp, Remotes {
  /** A workspace and a clone of it. */
  start(files?: Tree): Promise<{ readonly name: string; readonly id: string; readonly clone: string }>;
}

/** The real app behind a real socket, for the real git. */
export async function createRemoteApp(options: TestAppOptions = {}): Promise<RemoteApp> {
  const app = await createWorkspaceApp({ routes, ...options });
  const remotes = await serveRemotes(app);
  return {
    ...app,
    ...remotes,
    start: async (files = SMALL) => {
      const made = await app.workspace(files);
      return { ...made, clone: await remotes.clone(made.name) };
    },
  };
}

/** Puts an app behind a real socket. */
export async function serveRemotes(app: TestApp): Promise<Remotes> {
  const deps: Deps = { ...app.deps, config: { ...app.deps.config, port: 0 } };
  const server = await serveApi(deps, createApp(deps));
  const home = mkdtempSync(join(tmpdir(), 'git-remote-'));
  atFileEnd(async () => {
    await server.close();
    rmSync(home, { recursive: true, force: true });
  });
  const url = (workspace: string, key: string = app.key): string =>
    `${server.url.replace('://', `://x:${key}@`)}/git/${app.tenant}/${workspace}.git`;
  const clone = async (workspace: string, key?: string): Promise<string> => {
    const folder = mkdtempSync(join(home, 'clone-'));
    await git(home, 'clone', '-q', url(workspace, key), folder);
    return folder;
  };
  return { base: server.url, home, url, clone };
}

/** Commits all that is in the folder, and answers the commit. */
export async function commitAll(folder: string, message = 'By hand'): Promise<string> {
  await git(folder, 'add', '-A');
  await git(folder, 'commit', '-q', '--allow-empty', '-m', message);
  return git(folder, 'rev-parse', 'HEAD');
}

/** The files of a clone, but for git's own. */
export function readFolder(folder: string): Tree {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name).slice(folder.length + 1);
    if (entry.isFile() && !path.startsWith('.git/')) found[path] = readFileSync(join(folder, path), 'utf8');
  }
  return found;
}
