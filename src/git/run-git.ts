import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { Refusal } from '../shared/refusal.js';
import { spawnProcess } from '../shared/spawn-process.js';
import type { Repository } from './repository.js';

/** What one git process may use: address space (bytes), CPU (seconds), the largest file that it writes (bytes). */
export interface GitLimits {
  readonly memoryBytes: number;
  readonly cpuSeconds: number;
  readonly fileBytes: number;
}

const MIB = 1024 * 1024;
const LIMITS: GitLimits = { memoryBytes: 2_048 * MIB, cpuSeconds: 60, fileBytes: 1_024 * MIB };

/** The PATH of git processes, which do not get the service's own environment. */
const PATH = '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin:/run/current-system/sw/bin';

/**
 * The only git configuration, whatever the machine, the user or the repository sets: no hooks, no helpers, no
 * transport, and no background maintenance.
 */
const SETTINGS = [
  'safe.directory=*',
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.attributesFile=/dev/null',
  'core.excludesFile=/dev/null',
  'core.pager=cat',
  'gc.auto=0',
  'maintenance.auto=false',
  'protocol.allow=never',
  'pack.threads=1',
  'pack.windowMemory=64m',
  'core.packedGitLimit=256m',
  'core.packedGitWindowSize=32m',
  'core.deltaBaseCacheLimit=64m',
  'core.bigFileThreshold=8m',
  'core.fsync=committed',
];

const ENVIRONMENT = {
  PATH,
  LC_ALL: 'C',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_REPLACE_OBJECTS: '1',
};

/** Sets the limits that the shell supports. A system without one of them (macOS has no `-v`) runs git without it. */
const LIMITED = 'ulimit -v "$1" 2>/dev/null; ulimit -t "$2"; ulimit -f "$3"; ulimit -c 0; shift 3; exec git "$@"';

export interface GitOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly config?: readonly string[];
  readonly limits?: Partial<GitLimits>;
  /** Kills the process with SIGKILL. */
  readonly signal?: AbortSignal | undefined;
  /** The signal kills git's child processes too. */
  readonly isGroup?: boolean;
  /** Adds a pipe to the process, as its descriptor 3. */
  readonly extraPipe?: boolean;
}

/**
 * Starts the real git on a repository; the caller handles its streams. Throws a `Refusal` when file descriptors run
 * out.
 */
export function spawnGit(
  { gitdir, env: own = {} }: Repository,
  args: readonly string[],
  { env = {}, config = [], limits = {}, signal, isGroup = false, extraPipe = false }: GitOptions = {},
): ChildProcessWithoutNullStreams {
  const { memoryBytes, cpuSeconds, fileBytes } = { ...LIMITS, ...limits };
  const settings = [...SETTINGS, ...config].flatMap((setting) => ['-c', setting]);
  const figures = [Math.floor(memoryBytes / 1024), cpuSeconds, Math.floor(fileBytes / 512)].map(String);
  const argv = ['-c', LIMITED, 'git', ...figures, ...settings, `--git-dir=${gitdir}`, ...args];
  const child = spawnProcess('/bin/sh', argv, {
    cwd: gitdir,
    env: { ...ENVIRONMENT, ...own, ...env },
    killSignal: 'SIGKILL',
    detached: isGroup,
    stdio: ['pipe', 'pipe', 'pipe', ...(extraPipe ? (['pipe'] as const) : [])],
    ...(signal && { signal }),
  }) as ChildProcessWithoutNullStreams;
  if (isGroup && signal) endWith(child, signal);
  return child;
}

/** Kills the process group only while git runs: its pid may be reused later. */
function endWith(child: ChildProcessWithoutNullStreams, signal: AbortSignal): void {
  const end = () => endGroup(child.pid);
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  child.once('close', () => signal.removeEventListener('abort', end));
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // The process has already exited.
  }
}

export interface GitRun extends GitOptions {
  readonly input?: string | Uint8Array;
  /** Exit codes that are not failures. Default: 0 only. */
  readonly accept?: readonly number[];
  /** More output than this kills the process and sets `cut`. */
  readonly maxBytes?: number;
}

export interface GitOutput {
  readonly stdout: Buffer;
  readonly code: number;
  /** True when the output exceeded `maxBytes`. */
  readonly cut: boolean;
}

const DEFAULT_MAX = 32 * MIB;
const MAX_STDERR = 8_192;

/** A git process failed. */
export class GitFailed extends Error {
  override readonly name = 'GitFailed';

  constructor(
    message: string,
    /**
     * True when git reached its limit of memory, CPU time or file size: the task is too large, and nothing is broken.
     */
    readonly isOverLimits: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** git's messages when it runs out of memory. */
const NO_MEMORY = /out of memory|cannot allocate memory|mmap failed/i;

/** Runs git to its end and returns its output. Throws `GitFailed` with the end of its stderr when it fails. */
export async function runGit(repository: Repository, args: readonly string[], run: GitRun = {}): Promise<GitOutput> {
  const { input, accept = [0], maxBytes = DEFAULT_MAX, ...options } = run;
  const child = spawnGit(repository, args, options);
  const parts: Buffer[] = [];
  let size = 0;
  let cut = false;
  let stderr = '';
  child.stdout.on('data', (part: Buffer) => {
    size += part.byteLength;
    if (size <= maxBytes) parts.push(part);
    else if (!cut) {
      cut = true;
      child.kill('SIGKILL');
    }
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-MAX_STDERR);
  });
  child.stdin.end(input);
  const code = await endOf(child);
  if (cut || (code !== null && accept.includes(code))) return { stdout: Buffer.concat(parts), code: code ?? -1, cut };
  const isOverLimits = (code === null && !run.signal?.aborted) || NO_MEMORY.test(stderr);
  const reason = run.signal?.aborted ? { cause: run.signal.reason } : undefined;
  throw new GitFailed(`git ${args[0]} failed (${code ?? 'killed'}): ${stderr.trim()}`, isOverLimits, reason);
}

/** The exit code; null when a signal ended it. Rejects when git cannot be started. */
export function endOf(child: ChildProcessWithoutNullStreams): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', (error) => {
      if (error.name === 'AbortError') resolve(null);
      else reject(error);
    });
    // The shell exits with 127 when the program does not exist.
    child.once('close', (code) => (code === 127 ? reject(noGit()) : resolve(code)));
  });
}

function noGit(): Refusal {
  return new Refusal(
    'unavailable',
    'the git program is not installed where the service runs: install git 2.38 or newer',
  );
}
