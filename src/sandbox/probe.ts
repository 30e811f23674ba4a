import { chown, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { spawnProcess } from '../shared/spawn-process.js';
import { DRIVERS } from './drivers.js';
import { type Identity, launch } from './launch.js';
import { killProcess } from './process-table.js';
import { removeFolder } from './remove-folder.js';
import type { Host } from './run-program.js';

/** The unprivileged user as which a root worker runs programs: "nobody" on every Linux. */
const UNPRIVILEGED_UID = 65_534;

const PROBE_MS = 10_000;

export interface Probed {
  readonly identity: Identity;
  /** Null when programs run. */
  readonly reason: string | null;
}

/**
 * Runs bubblewrap once: a root worker tries an unprivileged user first, since the kernel limits only their number of
 * processes, and then itself.
 */
export async function probeBubblewrap(host: Omit<Host, 'driver' | 'identity'>): Promise<Probed> {
  if (!(await canSpawn('bwrap'))) {
    return {
      identity: { uid: null },
      reason: 'programs cannot run: bubblewrap is not installed. Install it (Debian, Ubuntu: apt install bubblewrap)',
    };
  }
  const root = process.getuid?.() === 0;
  const identities: Identity[] = root ? [{ uid: UNPRIVILEGED_UID }, { uid: null }] : [{ uid: null }];
  let words = '';
  for (const identity of identities) {
    const reason = await tryOnce(host, identity);
    if (reason === null) return { identity, reason };
    words = reason;
    if (identity.uid !== null) {
      host.log.warn(
        { reason },
        'programs run as root inside their sandbox: keep the data folder outside of a private home folder so that they need not',
      );
    }
  }
  return {
    identity: { uid: null },
    reason: `programs cannot run: bubblewrap is installed but does not work here (${words}). Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1; in a container: a seccomp profile that allows them)`,
  };
}

function canSpawn(program: string): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawnProcess(program, ['--version'], { stdio: 'ignore' });
    child.once('error', () => resolve(false));
    child.once('close', (code) => resolve(code === 0));
  });
}

/** Runs a program that does nothing. Returns bubblewrap's error, or null for success. */
async function tryOnce(host: Omit<Host, 'driver' | 'identity'>, identity: Identity): Promise<string | null> {
  const workDir = await mkdtemp(join(host.etcDir, '..', 'probe-'));
  if (identity.uid !== null) await chown(workDir, identity.uid, identity.uid);
  const command = DRIVERS.bubblewrap.command(
    {
      argv: ['bash', '-c', ': > /work/probe'],
      env: {},
      stdin: null,
      workDir,
      readOnly: [],
      timeoutMs: null,
      owner: { runId: '', lane: '' },
      signal: new AbortController().signal,
      proxySocket: null,
    },
    host,
  );
  try {
    const { child, stderr, stdout, open } = launch({ command, limits: host.limits, identity, stdin: 'ignore' });
    let words = '';
    stderr.on('data', (chunk: Buffer) => {
      words += chunk.toString('utf8');
    });
    stdout.resume();
    const ended = new Promise<number | null>((resolve) => {
      child.once('error', (error) => {
        words += error.message;
        resolve(null);
      });
      child.once('close', resolve);
    });
    open();
    const timer = setTimeout(() => child.pid !== undefined && killProcess(child.pid, true), PROBE_MS);
    const code = await ended;
    clearTimeout(timer);
    return code === 0 ? null : words.trim() || `exit status ${code}`;
  } finally {
    await removeFolder(workDir);
  }
}
