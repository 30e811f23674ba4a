import type { RunView } from '../../../src/contract/runs.js';
import type { Tree } from '../workspace-app.js';

/** Who asks: the account's owner, or a second person who may decide. */
export type Person = 'owner' | 'second';

export interface Ask {
  /** Below `/api/workspaces/<ws>/`; null makes the workspace. */
  readonly path: string | null;
  readonly body: object;
  readonly as?: Person;
}

/**
 * What a job does against a service. Each `post` has an Idempotency-Key of its own place in the job, so the whole job
 * can be done again on another service, and gives the same answers.
 */
export interface Doing {
  readonly workspace: string;
  readonly outside: Outside;
  post(ask: Ask): Promise<Readonly<Record<string, unknown>>>;
  /** Starts a run of flows/it.md and answers its id. */
  start(): Promise<string>;
  /** Until the run waits, has been decided, or has ended. */
  untilWaiting(id: string): Promise<RunView>;
  /** Until it has ended, with everything it waits for decided by the owner; `alone` leaves it to itself. */
  drive(id: string, alone?: 'alone'): Promise<RunView>;
  /** Runs evals/it.md to its end, and answers the ids of its cases' runs. */
  evaluate(): Promise<readonly string[]>;
}

/** What comes to the workspace without a credential, when its clock says that it is time, and what leaves it. */
export interface Outside {
  /** A delivery under that id of its sender's: the answer, with `runId` where a run was begun. */
  hook(id: string, body: object): Promise<Readonly<Record<string, unknown>>>;
  mail(id: string, mail: object): Promise<Readonly<Record<string, unknown>>>;
  /** The id of the first delivery. */
  delivery(): Promise<string>;
  /** All runs of the workspace, the oldest first, once there are so many. */
  runs(count: number): Promise<readonly string[]>;
  /** As if nothing had fired for thirteen hours: one time of the schedule is due. */
  makeDue(): Promise<void>;
  /** Until Temporal has been told of the schedule. */
  told(): Promise<void>;
  /** Once every notification of the workspace's runs is sent: what is noted of them, and the ids that were received. */
  received(): Promise<{
    readonly sent: readonly { readonly id: string; readonly tries: number }[];
    readonly received: readonly string[];
  }>;
  /** The paths of the files that the workspace keeps. */
  files(): Promise<readonly string[]>;
}

/** Work that comes by a failpoint, and what must be true once it was cut there and done again. */
export interface Job {
  readonly name: string;
  /** Of flows/it.md, below its frontmatter; further lines of that, with `{receiver}` and `{half a day away}` filled in. */
  readonly flow?: string;
  readonly keys?: string;
  /** Beside it. */
  readonly files?: Tree;
  /** evals/it.md, below its frontmatter. */
  readonly cases?: string;
  /** The how-manieth time the process comes by; the first when left out. */
  readonly nth?: number;
  /** Answers the ids of the runs that are to be looked at. */
  readonly does: (doing: Doing) => Promise<readonly string[]>;
  /** What the last of these runs shows. */
  readonly shows?: object;
  /** How often each audited action must have been done, once the job was cut and done again. */
  readonly did: Readonly<Record<string, number>>;
}

/** The work that is killed at a failpoint, and which process it is that comes by there. */
export interface Killed {
  readonly in: 'api' | 'worker';
  readonly jobs: readonly Job[];
}

/** The test that kills a process of its own there: no job comes by it in an installation without a third party. */
export interface KilledElsewhere {
  readonly elsewhere: string;
}
