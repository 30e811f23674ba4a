import type { Readable, Writable } from 'node:stream';
import type { NetworkGrant, NetworkUse } from './network/contract.js';

/** The pipes of an interactive program. */
export interface ProgramPipes {
  readonly stdin: Writable;
  readonly stdout: Readable;
}

/** One program, run once, in a sandbox of its own. */
export interface ProgramSpec {
  /** Argument vector; `argv[0]` is looked up on the sandbox's PATH. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | null;
  /** Host folder that is the program's writable /work. */
  readonly workDir: string;
  /** Host folders and sockets shown read-only, by the path they have inside: never under /work, which programs can change. */
  readonly readOnly: readonly { readonly host: string; readonly inside: string }[];
  /**
   * Texts that it reads as files, by their paths inside. They are never on the host's disk if the driver isolates
   * programs.
   */
  readonly files?: readonly { readonly inside: string; readonly content: string }[];
  /** The path of `workDir` inside; default /work. */
  readonly workInside?: string;
  /** The working folder inside; default is that of `workDir`. */
  readonly cwd?: string;
  /** The hosts that it may reach. Without it, or with an empty list, there is no network. */
  readonly network?: NetworkGrant;
  /** Null runs until it ends (and the run's stop or the step's timeout still kills it). */
  readonly timeoutMs: number | null;
  /** The run and lane that it belongs to, for the register and the reaper. */
  readonly owner: { readonly runId: string; readonly lane: string };
  readonly signal: AbortSignal;
  readonly onOutput?: (chunk: string, stream: 'stdout' | 'stderr') => void;
  /**
   * For an interactive program; `stdin` is null then. The reader of its standard output must limit it: it is not part of
   * the result and not subject to the output limit.
   */
  readonly onPipes?: (pipes: ProgramPipes) => void;
}

/** Why a program was killed: a limit, its timeout, or the run's stop. */
export type Killed =
  | 'timeout'
  | 'memory'
  | 'output'
  | 'disk'
  | 'files'
  | 'file-size'
  | 'processes'
  | 'in-flight'
  | 'stopped';

export interface ProgramResult {
  /** Null when it was killed. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  readonly killed: Killed | null;
  /** A sentence that names the limit: when it was killed, or failed and probably hit one. */
  readonly why: string | null;
  readonly durationMs: number;
  /** Its use of the network; null when it had none. */
  readonly network: NetworkUse | null;
}

export interface Sandbox {
  readonly driver: 'bubblewrap' | 'none' | 'unavailable';
  /** One sentence on why programs are refused, or null when they run. */
  readonly reason: string | null;
  /** The host user that programs run as, if it is not the worker's own. It must own /work and everything in it. */
  readonly uid?: number;
  /** Throws a Refusal `unavailable` with `reason` when programs cannot run. */
  run(program: ProgramSpec): Promise<ProgramResult>;
  /** Kills every process of a run's lanes, or of one lane. Resolves when they are gone. */
  kill(runId: string, lane?: string): Promise<void>;
  /** Removes what an earlier process of this host left: at start, and every 30 s. */
  reap(): Promise<void>;
  close(): Promise<void>;
}
