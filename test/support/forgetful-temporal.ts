import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { NativeConnection } from '@temporalio/worker';
import { createActivities } from '../../src/activities/index.js';
import type { Deps } from '../../src/deps.js';
import { FirstAdvances } from '../../src/engine/index.js';
import { createDb, type Db, distDir } from '../../src/platform/db/index.js';
import { createRunWorker, createWorkflows, switchWorkflows } from '../../src/platform/temporal/index.js';
import { freshDatabase } from './postgres.js';
import { silentLog } from './silent-log.js';
import { testTemporal } from './temporal.js';

/**
 * Temporal as an engine on a database of its own knows it, which can lose its memory: from then on another, empty
 * namespace of the same server answers, and a worker on it does the work.
 */
export async function createForgetfulTemporal() {
  const { address, namespace } = testTemporal();
  const { url, drop } = await freshDatabase();
  const db: Db = createDb({ url, ca: null, poolSize: 10, log: silentLog });
  const taskQueue = `forgetful-${randomUUID()}`;
  const client = (at: string) =>
    createWorkflows({ connection: Connection.lazy({ address }), namespace: at, taskQueue });
  const switched = switchWorkflows(client(namespace), silentLog);
  let endWorker: () => Promise<void> = async () => undefined;

  async function work(deps: Deps, at: string): Promise<void> {
    const connection = await NativeConnection.connect({ address });
    const activities = createActivities(
      deps,
      new FirstAdvances(deps, { isLeaving: () => false, tryTakeSlot: () => null }),
    );
    const bundlePath = join(distDir, 'workflows.js');
    const worker = await createRunWorker({ connection, namespace: at, taskQueue, activities, bundlePath });
    const running = worker.run();
    endWorker = async () => {
      await worker.shutdown();
      await running;
      await connection.close();
    };
  }

  return {
    db,
    workflows: switched.workflows,
    /** Begins to work on what was posted. */
    work: (deps: Deps) => work(deps, namespace),
    async forget(deps: Deps): Promise<void> {
      await endWorker();
      const empty = await emptyNamespace(address);
      await switched.use(client(empty));
      await work(deps, empty);
    },
    async close(): Promise<void> {
      await endWorker();
      await switched.workflows.close();
      await db.close();
      await drop();
    },
  };
}

async function emptyNamespace(address: string): Promise<string> {
  const namespace = `empty-${randomUUID()}`;
  const connection = await Connection.connect({ address });
  try {
    const workflowExecutionRetentionPeriod = msToTs(24 * 3_600_000);
    await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod });
    for (;;) {
      const found = await connection.workflowService
        .listWorkflowExecutions({ namespace, pageSize: 1 })
        .catch(() => null);
      if (found) return namespace;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  } finally {
    await connection.close();
  }
}
