import type { StartPushEvals } from './content/contract.js';
import type { Checker } from './format/checker.js';
import type { Models } from './models/contract.js';
import type { Config, InstallKeys } from './platform/config/index.js';
import type { Db } from './platform/db/contract.js';
import type { Net } from './platform/net/contract.js';
import type { BlobStore } from './platform/storage/contract.js';
import type { Workflows } from './platform/temporal/contract.js';
import type { Sandbox } from './sandbox/contract.js';
import type { Clock } from './shared/clock.js';
import type { Log } from './shared/log.js';

/** The dependencies of verbs. main.ts creates them once; tests create their own. */
export interface Deps {
  readonly config: Config;
  /** The install keys: `signing` derives tokens, `all` are accepted. */
  readonly keys: InstallKeys;
  readonly log: Log;
  /** Identifies this process; a worker's id in `worker_seen`. */
  readonly workerId: string;
  /** How often the main thread of this process was blocked so far. */
  readonly workerBlocks: () => number;
  readonly clock: Clock;
  readonly db: Db;
  readonly workflows: Workflows;
  readonly blobs: BlobStore;
  readonly models: Models;
  /** The client for requests to addresses that users give. Use no other client for them. */
  readonly net: Net;
  readonly sandbox: Sandbox;
  /** Reads and checks trees off the event loop, within limits of size, depth and time. */
  readonly checker: Checker;
  /** Starts the evals that a deploy triggers. */
  readonly startPushEvals: StartPushEvals;
}
