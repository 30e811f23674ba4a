import type { Config, InstallKeys } from './config/index.js';
import type { Db } from './db/contract.js';
import type { Models } from './models/contract.js';
import type { Net } from './net/contract.js';
import type { Sandbox } from './sandbox/contract.js';
import type { Clock } from './shared/clock.js';
import type { Log } from './shared/log.js';
import type { BlobStore } from './storage/contract.js';
import type { Workflows } from './temporal/contract.js';
import type { Checker } from './workspace/checker.js';

/** All that a verb may touch. main.ts makes it once; tests make their own. */
export interface Deps {
  readonly config: Config;
  /** The install keys: `signing` derives tokens, `all` are accepted. */
  readonly keys: InstallKeys;
  readonly log: Log;
  /** Names this process, as `worker_seen` does where it is a worker. */
  readonly workerId: string;
  readonly clock: Clock;
  readonly db: Db;
  readonly workflows: Workflows;
  readonly blobs: BlobStore;
  readonly models: Models;
  /** Requests to addresses that users give: never another client. */
  readonly net: Net;
  readonly sandbox: Sandbox;
  /** Reads and checks trees off the event loop, within limits of size, depth and time. */
  readonly checker: Checker;
}
