import type { Killed } from './contract.js';
import type { Limits } from './limits.js';

const UNITS = [
  { name: 'GiB', bytes: 1_073_741_824 },
  { name: 'MiB', bytes: 1_048_576 },
  { name: 'KiB', bytes: 1_024 },
] as const;

/** Each limit, and what the program can do about it. For the model, and for the step's trace. */
const WHY = {
  timeout: ({ timeoutMs }) => `it was stopped after ${(timeoutMs ?? 0) / 1_000} s: its time was up`,
  memory: ({ limits }) => `killed: used more than ${size(limits.memory)} of memory`,
  output: ({ limits }) =>
    `killed: wrote more than ${size(limits.output)} of output; write to a file under outputs/ or files/ instead`,
  disk: ({ limits }) => `killed: used more than ${size(limits.work)} of disk in the work folder`,
  files: ({ limits }) => `killed: left more than ${limits.workFiles} files and folders in the work folder`,
  'file-size': ({ limits }) => `killed: wrote a file of more than ${size(limits.file)}`,
  processes: ({ limits }) => `killed: started more than ${limits.processes} processes and threads`,
  'in-flight': () =>
    'killed: kept open files in flight between its processes, where what they hold cannot be measured; receive what is sent',
  stopped: () => 'it was stopped with the run',
} as const satisfies Record<Killed, (context: Context) => string>;

interface Context {
  readonly limits: Limits;
  readonly timeoutMs: number | null;
}

/** One sentence on why a program was ended. */
export function whyKilled(killed: Killed, context: Context): string {
  return WHY[killed](context);
}

/** Error texts of the C library and of languages when the kernel enforces a limit. */
const HINTS: readonly { readonly stderr: RegExp; readonly hint: (limits: Limits) => string }[] = [
  {
    stderr: /File size limit exceeded|File too large|EFBIG/,
    hint: (limits) => `one file may hold ${size(limits.file)} at most`,
  },
  {
    stderr: /MemoryError|Cannot allocate memory|heap out of memory|bad_alloc|ENOMEM/,
    hint: (limits) => `a program may use ${size(limits.memory)} of memory at most`,
  },
  {
    stderr: /fork: (retry: )?Resource temporarily unavailable|can't start new thread|pthread_create|spawn \S+ EAGAIN/,
    hint: (limits) => `a program may have ${limits.processes} processes and threads at most`,
  },
  {
    stderr: /Too many open files|EMFILE/,
    hint: (limits) => `a process may have ${limits.openFiles} files open at most`,
  },
  {
    stderr: /No space left on device|ENOSPC/,
    hint: (limits) =>
      `/tmp holds ${size(limits.tmp)} at most and /dev/shm ${size(limits.shm)}: put what is bigger under /work`,
  },
];

/** The limit that a failed program probably hit, by its output; null when its output names none. */
export function hintOf(stderr: string, limits: Limits): string | null {
  return HINTS.find((candidate) => candidate.stderr.test(stderr))?.hint(limits) ?? null;
}

function size(bytes: number): string {
  const unit = UNITS.find((candidate) => bytes >= candidate.bytes);
  return unit ? `${Number((bytes / unit.bytes).toFixed(1))} ${unit.name}` : `${bytes} bytes`;
}
