/** A process of its own that serves git, deploys one tree, or applies a push that waits: the crash tests kill it half-way. */
import { createApp } from '../../src/api/app.js';
import { serveApi } from '../../src/api/index.js';
import { gitRoutes } from '../../src/api/routes/git.js';
import { deployTree } from '../../src/content/index.js';
import type { Deps } from '../../src/deps.js';
import { startPushEvals } from '../../src/evals/index.js';
import { createModels } from '../../src/models/index.js';
import { parseConfig } from '../../src/platform/config/index.js';
import { createDb } from '../../src/platform/db/index.js';
import { createBlobStore } from '../../src/platform/storage/index.js';
import { applyPendingPush } from '../../src/remotes/index.js';
import { systemClock } from '../../src/shared/clock.js';
import { armFailpoint } from '../../src/shared/failpoint.js';
import { directChecker } from './direct-checker.js';
import { silentLog } from './silent-log.js';

/** What it does. It says one line first: where it serves, else that it begins. */
export type GitWork =
  | { readonly kind: 'serve' }
  | { readonly kind: 'apply'; readonly workspaceId: string }
  | {
      readonly kind: 'deploy';
      readonly tenant: string;
      readonly workspace: string;
      readonly files: Readonly<Record<string, string>>;
    };

export interface GitOrder {
  readonly databaseUrl: string;
  readonly dataDir: string;
  readonly failpoint: string | null;
  readonly work: GitWork;
}

const order = JSON.parse(process.argv[2] ?? '') as GitOrder;
const { databaseUrl, dataDir, work } = order;
const config = { ...parseConfig({ DATABASE_URL: databaseUrl, SERVICE_DATA_DIR: dataDir }, '0.0.0-test'), port: 0 };
const db = createDb({ url: databaseUrl, ca: null, poolSize: 5, log: silentLog });
armFailpoint(order.failpoint);

const deps = {
  ...{ config, db, checker: directChecker, log: silentLog, clock: systemClock },
  blobs: createBlobStore({ dataDir, s3: null }),
  models: createModels({ config, log: silentLog, clock: systemClock }),
  startPushEvals,
} as Partial<Deps> as Deps;

async function deploy({ tenant, workspace, files }: Extract<GitWork, { kind: 'deploy' }>): Promise<void> {
  const actor = { kind: 'system', id: 'test', label: 'test' } as const;
  const caller = {
    ...{ tenant, role: 'admin' as const, workspaces: null, person: null },
    ...{ actor, signedIn: false, address: null },
  };
  const tree = Object.entries(files).map(([path, content]) => ({ path, content: Buffer.from(content) }));
  await deployTree(deps, caller, { workspace, files: tree, via: 'deploy' });
}

async function main(): Promise<void> {
  if (work.kind === 'serve') {
    const server = await serveApi(deps, createApp(deps, gitRoutes));
    process.stdout.write(`${server.url}\n`);
    return;
  }
  process.stdout.write('ready\n');
  await (work.kind === 'apply' ? applyPendingPush(deps, work.workspaceId) : deploy(work));
  await db.close();
}

void main();
