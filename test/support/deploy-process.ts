/** A process of its own that deploys one tree and prints the answer: deploy-crash.test.ts kills it half-way. */
import { parseConfig } from '../../src/config/index.js';
import { createDb } from '../../src/db/index.js';
import { deployTree } from '../../src/deploys/index.js';
import type { Deps } from '../../src/deps.js';
import { createModels } from '../../src/models/index.js';
import { systemClock } from '../../src/shared/clock.js';
import { armFailpoint } from '../../src/shared/failpoint.js';
import { checkTree } from '../../src/workspace/index.js';
import { silentLog } from './silent-log.js';

export interface DeployOrder {
  readonly databaseUrl: string;
  readonly dataDir: string;
  readonly tenant: string;
  readonly workspace: string;
  readonly files: Readonly<Record<string, string>>;
  readonly failpoint: string | null;
}

const order = JSON.parse(process.argv[2] ?? '') as DeployOrder;
const config = parseConfig({ DATABASE_URL: order.databaseUrl, SERVICE_DATA_DIR: order.dataDir }, '0.0.0-test');
const db = createDb({ url: order.databaseUrl, ca: null, poolSize: 3, log: silentLog });
armFailpoint(order.failpoint);

const deps = {
  config,
  db,
  log: silentLog,
  clock: systemClock,
  models: createModels({ config, log: silentLog, clock: systemClock }),
  checker: {
    check: async (files: Parameters<typeof checkTree>[0], context: Parameters<typeof checkTree>[1]) =>
      checkTree(files, context),
    close: async () => undefined,
  },
} as Partial<Deps> as Deps;
const caller = {
  tenant: order.tenant,
  role: 'admin',
  workspaces: null,
  actor: { kind: 'system', id: 'test', label: 'test' },
  person: null,
  signedIn: false,
  address: null,
} as const;

process.stdout.write('ready\n');
const files = Object.entries(order.files).map(([path, content]) => ({ path, content: Buffer.from(content) }));
const result = await deployTree(deps, caller, { workspace: order.workspace, files, via: 'deploy' });
process.stdout.write(`${JSON.stringify(result)}\n`);
await db.close();
