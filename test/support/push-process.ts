/** A process of its own that serves git, or applies a push that waits: push-crash.test.ts kills it half-way. */
import { createApp } from '../../src/api/app.js';
import { serveApi } from '../../src/api/index.js';
import { gitRoutes } from '../../src/api/routes/git/index.js';
import { parseConfig } from '../../src/config/index.js';
import { createDb } from '../../src/db/index.js';
import type { Deps } from '../../src/deps.js';
import { createModels } from '../../src/models/index.js';
import { applyPendingPush } from '../../src/remotes/index.js';
import { systemClock } from '../../src/shared/clock.js';
import { armFailpoint } from '../../src/shared/failpoint.js';
import { createBlobStore } from '../../src/storage/index.js';
import { checkTree } from '../../src/workspace/index.js';
import { silentLog } from './silent-log.js';

export interface PushOrder {
  readonly databaseUrl: string;
  readonly dataDir: string;
  readonly failpoint: string | null;
  /** The workspace whose waiting push is applied; null serves git and prints the address. */
  readonly apply: string | null;
}

const order = JSON.parse(process.argv[2] ?? '') as PushOrder;
const parsed = parseConfig({ DATABASE_URL: order.databaseUrl, SERVICE_DATA_DIR: order.dataDir }, '0.0.0-test');
const config = { ...parsed, port: 0 };
const db = createDb({ url: order.databaseUrl, ca: null, poolSize: 5, log: silentLog });
armFailpoint(order.failpoint);

const deps = {
  config,
  db,
  log: silentLog,
  clock: systemClock,
  blobs: createBlobStore({ dataDir: order.dataDir, s3: null }),
  models: createModels({ config, log: silentLog, clock: systemClock }),
  checker: {
    check: async (files: Parameters<typeof checkTree>[0], context: Parameters<typeof checkTree>[1]) =>
      checkTree(files, context),
    close: async () => undefined,
  },
} as Partial<Deps> as Deps;

if (order.apply === null) {
  const server = await serveApi(deps, createApp(deps, gitRoutes));
  process.stdout.write(`${server.url}\n`);
} else {
  process.stdout.write('ready\n');
  await applyPendingPush(deps, order.apply);
  await db.close();
}
