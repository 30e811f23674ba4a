import { execFileSync, spawn } from 'node:child_process';
import { constants } from 'node:os';

const POLL_EVERY_MS = 2_000;
/** How long those that are asked to end may take. */
const PATIENCE_MS = 10_000;
const POLL_MS = 50;

/**
 * A process and all that it started, those too that lead a group of their own or whose parent has gone since: each is
 * known from the look on that found it below one that was known.
 * @param {number} root
 */
export function createProcessTree(root) {
  /** When each began: a number is given again. @type {Map<number, string>} */
  const known = new Map();
  let isFirst = true;
  /** Answers those that live. */
  const look = () => {
    const rows = listProcesses();
    for (const [pid, began] of known) if (rows.get(pid)?.began !== began) known.delete(pid);
    const first = isFirst ? rows.get(root) : undefined;
    if (first) known.set(root, first.began);
    isFirst = false;
    for (let before = -1; before < known.size; ) {
      before = known.size;
      for (const [pid, { parent, began }] of rows) if (known.has(parent)) known.set(pid, began);
    }
    return [...known.keys()];
  };
  return { look };
}

/**
 * Ends all of a tree, and answers how many lived. They are stopped first, so that none starts another meanwhile; who
 * does not heed SIGTERM in time is killed.
 * @param {ReturnType<typeof createProcessTree>} tree
 */
export async function endTree(tree, patienceMs = PATIENCE_MS) {
  let living = tree.look();
  for (let before = 0; before < living.length; living = tree.look()) {
    before = living.length;
    signalAll(living, 'SIGSTOP');
  }
  const count = living.length;
  signalAll(living, 'SIGTERM');
  signalAll(living, 'SIGCONT');
  for (const end = Date.now() + patienceMs; living.length > 0; living = tree.look()) {
    if (Date.now() > end) signalAll(living, 'SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return count;
}

/**
 * Runs a program with our output. When it has ended, however, and at SIGINT, SIGTERM or SIGHUP, nothing that it started
 * is left. It leads a group of its own: a Ctrl-C at the terminal comes to us alone, while its tree is still whole.
 * @param {string} program
 * @param {readonly string[]} args
 * @param {{ cwd?: string }} [options]
 * @returns {Promise<{ code: number, left: number }>} its exit code, and how many processes had to be ended besides.
 */
export function runTree(program, args, { cwd } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...(cwd && { cwd }),
      stdio: ['ignore', 'inherit', 'inherit'],
      detached: true,
    });
    const tree = createProcessTree(child.pid ?? -1);
    const timer = setInterval(tree.look, POLL_EVERY_MS);
    /** @type {NodeJS.Signals | null} */
    let ended = null;
    for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
      process.on(signal, () => {
        ended ??= signal;
        void endTree(tree);
      });
    child.once('error', reject);
    child.once('close', async (code) => {
      clearInterval(timer);
      const left = await endTree(tree);
      resolve({ code: ended ? 128 + constants.signals[ended] : (code ?? 1), left });
    });
  });
}

/** @param {readonly number[]} pids @param {NodeJS.Signals} signal */
function signalAll(pids, signal) {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** Those that live, by their numbers; none where there is no `ps`. */
function listProcesses() {
  /** @type {Map<number, { parent: number, began: string }>} */
  const found = new Map();
  for (const line of readProcesses().split('\n')) {
    const [, pid, parent, state, began] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.+)$/.exec(line) ?? [];
    // A zombie has exited; it may have no parent that collects it.
    if (pid && parent && began && !state?.startsWith('Z')) found.set(Number(pid), { parent: Number(parent), began });
  }
  return found;
}

function readProcesses() {
  try {
    return execFileSync('ps', ['-eo', 'pid=,ppid=,stat=,lstart='], { encoding: 'utf8' });
  } catch {
    return '';
  }
}
