import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { NativeConnection } from '@temporalio/worker';
import { createRunWorker, createWorkflows, type RunWorkerOptions } from '../../src/platform/temporal/index.js';

/** Shuts workers down while eager starts are under way on their connections: bundled and run by `worker-shutdown.test`. */
const [address = '', namespace = '', bundlePath = ''] = process.argv.slice(2);
const ROUNDS = 12;

for (let round = 0; round < ROUNDS; round += 1) {
  const taskQueue = `shutdown-${randomUUID()}`;
  const connection = await NativeConnection.connect({ address });
  const activities = {} as RunWorkerOptions['activities'];
  const worker = await createRunWorker({ connection, namespace, taskQueue, activities, bundlePath });
  const running = worker.run();
  const workflows = createWorkflows({ connection, namespace, taskQueue });
  await workflows.startRun(randomUUID());
  const starts = Array.from({ length: 50 }, () => workflows.startRun(randomUUID()));
  // Each round cuts the starts at another point.
  await sleep(round);
  await worker.shutdown();
  await Promise.all([running, ...starts]);
  await connection.close();
}
process.exit(0);
