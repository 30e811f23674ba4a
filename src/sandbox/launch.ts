import type { ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { spawnProcess } from '../shared/spawn-process.js';
import { FIRST_FILE } from './bubblewrap-argv.js';
import type { Command } from './drivers.js';
import type { Limits } from './limits.js';

/**
 * Holds the program until the gate on descriptor 3 opens, so that nothing runs before it is registered.
 * Its output goes through real pipes (Node's are sockets, on which /dev/stdout cannot be opened), and no
 * descriptor that the worker happened to inherit is passed on. When the host runs out of memory the kernel ends
 * programs first, not the worker or its database; programs also get a lower CPU priority.
 */
const WRAPPER = `
read -r _ <&3 || exit 125
for fd in /proc/self/fd/*; do fd=\${fd##*/}; case $fd in 0|1|2|4|5|6) ;; *) [ "$fd" -ge 7 ] && [ "$fd" -lt "$4" ] || eval "exec $fd>&-" ;; esac; done
ulimit -c 0 -d "$1" -f "$2" -n "$3" || exit 125
shift 4
{ echo 1000 > /proc/self/oom_score_adj; } 2>/dev/null
exec > >(exec cat 4>&- 5>&- 6>&-)
exec 2> >(exec cat >&2 4>&- 5>&- 6>&-)
exec nice -n 10 "$@"
`;

export interface Identity {
  /** The unprivileged user that a root worker starts programs as; null is the worker's own. */
  readonly uid: number | null;
}

export interface Launched {
  readonly child: ChildProcess;
  /** Null when nothing is written to it while the program runs. */
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Opens the gate, so that the program starts. */
  readonly open: () => void;
  /** The host's pid of the first process of the program's pid namespace; null if it was never created. */
  readonly init: Promise<number | null>;
}

/** The stream of each descriptor with `stdio: 'pipe'`; Node's types stop at the fifth. */
type Pipes = [Writable | null, Readable, Readable, Writable, Readable, Writable, Writable, ...Writable[]];

export interface LaunchInput {
  readonly command: Command;
  readonly limits: Limits;
  readonly identity: Identity;
  /** A file descriptor, a pipe to write to while it runs, or nothing. */
  readonly stdin: number | 'pipe' | 'ignore';
}

/** Spawns a command behind its gate, in a process group of its own, without a terminal. */
export function launch({ command, limits, identity, stdin }: LaunchInput): Launched {
  const kib = (bytes: number) => String(Math.ceil(bytes / 1024));
  const settings = [
    kib(limits.memory),
    kib(limits.file),
    String(limits.openFiles),
    String(FIRST_FILE + command.files.length),
  ];
  const child = spawnProcess(
    'bash',
    ['--norc', '--noprofile', '-c', WRAPPER, 'sandbox', ...settings, ...command.argv],
    {
      cwd: command.cwd,
      env: command.env,
      detached: true,
      stdio: [stdin, 'pipe', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe', ...command.files.map(() => 'pipe' as const)],
      ...(identity.uid === null ? {} : { uid: identity.uid, gid: identity.uid }),
    },
  );
  const [input, stdout, stderr, gate, info, options, filter, ...files] = child.stdio as unknown as Pipes;
  options.end(command.options);
  filter.end(command.filter);
  for (const [index, file] of files.entries()) file.end(command.files[index]);
  return { child, stdin: input, stdout, stderr, open: () => gate.end('\n'), init: readInit(info) };
}

/** Reads to the end even after the answer: bubblewrap writes in pieces, and writing into a closed pipe would end it. */
function readInit(info: Readable): Promise<number | null> {
  return new Promise((resolve) => {
    let text = '';
    info.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      const match = /"child-pid": (\d+)/.exec(text);
      if (match) resolve(Number(match[1]));
    });
    info.once('close', () => resolve(null));
  });
}
