import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { startDeadline } from '../shared/deadline.js';
import type { Repository } from './repository.js';
import { endOf, spawnGit } from './run-git.js';

export interface MirrorCredential {
  readonly username: string;
  readonly password: string;
}

export interface MirrorPush {
  /** The exact refs that the mirror must have below `refs/heads/` and `refs/tags/`. Their objects exist here. */
  readonly refs: ReadonlyMap<string, string>;
  /** Without user and password. */
  readonly url: URL;
  /** The checked addresses of the URL's host. Git connects to no others. */
  readonly addresses: readonly string[];
  readonly credential: MirrorCredential | null;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export type MirrorPushed = { readonly ok: true } | { readonly ok: false; readonly message: string };

/** The descriptor that passes the credential to git, so that no command line, environment or file holds it. */
const CREDENTIAL_FD = 3;

/**
 * Pushes these refs to another repository with the real git, and deletes all other refs there. It follows no redirect,
 * connects only to the given addresses, and reads no git configuration.
 */
export async function pushMirror(repository: Repository, push: MirrorPush): Promise<MirrorPushed> {
  const view = await makeView(repository, push.refs);
  const deadline = startDeadline(push.timeoutMs, push.signal);
  try {
    const { code, stdout, stderr } = await run(view, push, deadline.signal);
    if (deadline.isOver())
      return { ok: false, message: `${push.url.host} did not receive the push within ${push.timeoutMs / 1_000} s` };
    return code === 0 ? { ok: true } : { ok: false, message: reasonOf(stdout, stderr, push) };
  } finally {
    deadline.end();
    await rm(view.gitdir, { recursive: true, force: true });
  }
}

/**
 * A temporary repository with exactly these refs, which borrows the real one's objects. Refs that move meanwhile do not
 * change what is pushed or deleted.
 */
async function makeView({ gitdir }: Repository, refs: ReadonlyMap<string, string>): Promise<Repository> {
  const view = await mkdtemp(join(dirname(gitdir), '.mirror-'));
  await mkdir(join(view, 'objects', 'info'), { recursive: true });
  await mkdir(join(view, 'refs'));
  await writeFile(join(view, 'objects', 'info', 'alternates'), `${resolve(gitdir, 'objects')}\n`);
  await writeFile(join(view, 'packed-refs'), [...refs].map(([name, oid]) => `${oid} ${name}\n`).join(''));
  await writeFile(join(view, 'HEAD'), 'ref: refs/heads/main\n');
  await writeFile(join(view, 'config'), '[core]\n\trepositoryformatversion = 0\n\tbare = true\n');
  return { gitdir: view };
}

interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const MAX_OUTPUT = 65_536;

async function run(view: Repository, push: MirrorPush, signal: AbortSignal): Promise<Run> {
  const args = ['push', '--porcelain', '--prune', '--no-verify', '--signed=false', '--end-of-options', push.url.href];
  const child = spawnGit(view, [...args, '+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*'], {
    config: settingsOf(push),
    isGroup: true,
    extraPipe: true,
    signal,
  });
  child.stdin.end();
  const secret = child.stdio[CREDENTIAL_FD] as Writable;
  secret.end(push.credential ? `username=${push.credential.username}\npassword=${push.credential.password}\n` : '');
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  const code = await endOf(child);
  return { code, stdout: stdout(), stderr: stderr() };
}

function collect(stream: Readable): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (part: string) => {
    text = (text + part).slice(-MAX_OUTPUT);
  });
  return () => text;
}

function settingsOf({ url, addresses }: MirrorPush): string[] {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  const pinned = addresses.map((address) => (isIP(address) === 6 ? `[${address}]` : address)).join(',');
  return [
    `protocol.${url.protocol.slice(0, -1)}.allow=always`,
    // The empty value clears other helpers. Ours prints the descriptor's content, which can be read only once.
    'credential.helper=',
    `credential.helper=!cat <&${CREDENTIAL_FD} #`,
    'core.askPass=',
    'http.followRedirects=false',
    'http.proxy=',
    'http.sslVerify=true',
    'http.lowSpeedLimit=1',
    'http.lowSpeedTime=60',
    'push.recurseSubmodules=no',
    // An IP address needs no pinned resolution.
    ...(isIP(host) > 0 ? [] : [`http.curloptResolve=${host}:${port}:${pinned}`]),
  ];
}

/** The rejected refs with their reasons, or else git's own messages. */
function reasonOf(stdout: string, stderr: string, { url }: MirrorPush): string {
  const refused = stdout.split('\n').flatMap((line) => {
    const [, to = '', why = ''] = /^!\t[^:\t]*:([^\t]*)\t(.*)$/.exec(line) ?? [];
    return to === '' ? [] : [`${to} ${why}`];
  });
  if (refused.length > 0) return `${url.host} rejected ${refused.join(', ')}`;
  const gitErrors = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^(fatal|error|remote): ./.test(line));
  if (gitErrors.some((line) => /could not read (Username|Password)|Authentication failed/i.test(line)))
    return `${url.host} refuses access to the mirror: check that the secret MIRROR_TOKEN may push to it`;
  return gitErrors.length === 0 ? `git could not push to ${url.host}` : gitErrors.join(' ');
}
