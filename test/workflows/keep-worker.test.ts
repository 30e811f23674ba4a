import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { expect, onTestFinished, test } from 'vitest';
import { distDir } from '../../src/platform/db/index.js';
import {
  connectTemporal,
  createWorkflows,
  type KeepWorkerOptions,
  keepWorker,
  switchWorkflows,
} from '../../src/platform/temporal/index.js';
import { pauseAfterRun } from '../../src/platform/temporal/keep-worker.js';
import { silentLog } from '../support/silent-log.js';
import { testTemporal } from '../support/temporal.js';
import { startTemporalDoor } from '../support/temporal-door.js';

const { address, namespace } = testTemporal();

/** A kept worker behind a door that refuses the calls that `refuses` names, and the port over its connections. */
async function keptWorker(refuses: (method: string) => boolean) {
  const taskQueue = `kept-${randomUUID()}`;
  const door = await startTemporalDoor(address, refuses);
  const connection = await connectTemporal({ address, tls: null });
  const switched = switchWorkflows(createWorkflows({ connection, namespace, taskQueue }), silentLog);
  let connections = 0;
  const kept = keepWorker({
    target: { address: door.address, tls: null },
    namespace,
    taskQueue,
    activities: {} as KeepWorkerOptions['activities'],
    bundlePath: join(distDir, 'workflows.js'),
    log: silentLog,
    onConnected: (connected) => {
      connections += 1;
      switched.use(createWorkflows({ connection: connected, namespace, taskQueue }));
    },
  });
  onTestFinished(async () => {
    await kept.close();
    await switched.workflows.close();
    door.close();
  });
  return { kept, workflows: switched.workflows, connections: () => connections };
}

function countThreads(): () => number {
  let threads = 0;
  const count = () => {
    threads += 1;
  };
  process.on('worker', count);
  onTestFinished(() => {
    process.off('worker', count);
  });
  return () => threads;
}

/** A run whose first task a worker answers. */
async function runsATask(workflows: Awaited<ReturnType<typeof keptWorker>>['workflows']): Promise<void> {
  const runId = randomUUID();
  await workflows.startRun(runId);
  const client = new Client({ connection: await connectTemporal({ address, tls: null }), namespace });
  onTestFinished(() => client.connection.close());
  const handle = client.workflow.getHandle(runId);
  await expect
    .poll(async () => {
      const { events } = await handle.fetchHistory();
      return events?.some((event) => event.workflowTaskCompletedEventAttributes);
    })
    .toBe(true);
  await handle.terminate('test');
}

test('while Temporal does not answer for the namespace nothing is started, and the worker polls once it does', async () => {
  const threads = countThreads();
  const threadsAt: number[] = [];
  const { kept, workflows, connections } = await keptWorker((method) => {
    if (method !== 'DescribeNamespace') return false;
    threadsAt.push(threads());
    return threadsAt.length <= 3;
  });
  await kept.ready;
  expect(threadsAt.slice(0, 4)).toEqual([0, 0, 0, 0]);
  expect(connections()).toBe(1);
  await runsATask(workflows);
});

test('a worker that failed as it registered is replaced by one on a connection of its own', async () => {
  let [connects, describes] = [0, 0];
  const { kept, workflows, connections } = await keptWorker((method) => {
    if (method === 'GetSystemInfo') connects += 1;
    if (method === 'DescribeNamespace') {
      describes += 1;
      // The first call asks whether Temporal is there, the next ones are the worker's own.
      return connects === 1 && describes > 1;
    }
    return false;
  });
  await kept.ready;
  expect(connections()).toBe(2);
  await runsATask(workflows);
});

test('the pause grows with each failure in a row, and is short again after a worker that ran for long', () => {
  const pauses: number[] = [];
  let last: number | null = null;
  for (let n = 0; n < 8; n += 1) {
    last = pauseAfterRun(last, 0);
    pauses.push(last);
  }
  expect(pauses).toEqual([200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
  expect(pauseAfterRun(10_000, 3_600_000)).toBe(200);
  expect(pauseAfterRun(1_600, 500)).toBe(3_200);
});
