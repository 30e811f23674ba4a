import { randomUUID } from 'node:crypto';
import { Client, type Connection } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectTemporal, connectWorker, createWorkflows, type Workflows } from '../../src/platform/temporal/index.js';
import { startPausableProxy } from '../support/pausable-proxy.js';
import { testTemporal } from '../support/temporal.js';

const { address, namespace } = testTemporal();
const taskQueue = `port-${randomUUID()}`;
const target = { address, tls: null };

const kinds = [
  ['a client', connectTemporal],
  ['a worker', connectWorker],
] as const;

describe.each(kinds)('over the connection of %s', (_kind, connect) => {
  let connection: Connection | NativeConnection;
  let workflows: Workflows;
  let client: Client;

  beforeAll(async () => {
    connection = await connect(target);
    workflows = createWorkflows({ connection, namespace, taskQueue });
    client = new Client({ connection, namespace });
  });
  afterAll(() => workflows.close());

  async function startedRun(): Promise<string> {
    const runId = randomUUID();
    await workflows.startRun(runId);
    return runId;
  }

  test('starting a run again is success, and a run that has ended never runs again', async () => {
    const runId = await startedRun();
    await workflows.startRun(runId);
    expect(await workflows.describeRun(runId)).toBe('running');
    await client.workflow.getHandle(runId).terminate('test');
    await workflows.startRun(runId);
    expect(await workflows.describeRun(runId)).toBe('closed');
  });

  test('a run begins locally where it may, unless it is started again; without a worker here its task is elsewhere', async () => {
    const startedHere: string[] = [];
    let isAllowed = true;
    const localStarts = { isAllowed: () => isAllowed, onStarted: (runId: string) => void startedHere.push(runId) };
    const local = createWorkflows({ connection, namespace, taskQueue, localStarts });
    const typeOf = async (options?: { isAgain: boolean }) => {
      const runId = randomUUID();
      await local.startRun(runId, options);
      const { type } = await client.workflow.getHandle(runId).describe();
      await client.workflow.getHandle(runId).terminate('test');
      return type;
    };
    expect(await typeOf()).toBe('runFlowLocal');
    expect(await typeOf({ isAgain: true })).toBe('runFlow');
    isAllowed = false;
    expect(await typeOf()).toBe('runFlow');
    expect(startedHere).toEqual([]);
  });

  test('signals and cancels of runs that are unknown or over are success', async () => {
    const over = await startedRun();
    await client.workflow.getHandle(over).terminate('test');
    for (const runId of [over, 'never-started']) {
      await expect(workflows.signalRun(runId, 'approval', 'park')).resolves.toBeUndefined();
      await expect(workflows.cancelRun(runId)).resolves.toBeUndefined();
    }
    expect(await workflows.describeRun('never-started')).toBe('missing');
  });

  test('a signal and a cancel reach the history of their run', async () => {
    const runId = await startedRun();
    await workflows.signalRun(runId, 'event', 'park-1');
    await workflows.cancelRun(runId);
    const { events } = await client.workflow.getHandle(runId).fetchHistory();
    const signalled = events?.map((event) => event.workflowExecutionSignaledEventAttributes).find(Boolean);
    expect(signalled?.signalName).toBe('event');
    expect(Buffer.from(signalled?.input?.payloads?.[0]?.data ?? []).toString()).toBe('"park-1"');
    expect(events?.some((event) => event.workflowExecutionCancelRequestedEventAttributes)).toBe(true);
  });

  test('the end of an eval’s run is awaited for as long as asked, and no longer', async () => {
    const evalRunId = randomUUID();
    await workflows.startEval(evalRunId);
    // Nobody works on the queue: it does not end by itself.
    await workflows.whenEvalEnds(evalRunId, 300);
    const awaited = workflows.whenEvalEnds(evalRunId, 30_000);
    await client.workflow.getHandle(evalRunId).terminate('test');
    await awaited;
    await workflows.whenEvalEnds('never-started', 30_000);
  });

  test('the open runs are those of the own task queue', async () => {
    const mine = await startedRun();
    const other = randomUUID();
    await client.workflow.start('runFlow', { workflowId: other, taskQueue: 'another-installation', args: [] });
    const open = async () => {
      const ids: string[] = [];
      for await (const { id } of workflows.openRuns()) ids.push(id);
      return ids;
    };
    await expect.poll(open).toContain(mine);
    expect(await open()).not.toContain(other);
  });

  test('it answers a ping', async () => {
    expect(await workflows.ping()).toBe(true);
  });
});

test('a Temporal that is down is a refusal that says unavailable, and a ping that is false', async () => {
  const connection = await connectTemporal({ address: '127.0.0.1:1', tls: null });
  const workflows = createWorkflows({ connection, namespace, taskQueue });
  expect(await workflows.ping()).toBe(false);
  const calls = [workflows.startRun('r'), workflows.signalRun('r', 'event', 'p'), workflows.describeRun('r')];
  // Awaited together: a refusal that nobody awaits yet would be an unhandled one.
  await Promise.all(calls.map((call) => expect(call).rejects.toMatchObject({ kind: 'unavailable' })));
  await workflows.close();
});

test.each(kinds)('every call ends when Temporal hangs on the living connection of %s', async (_kind, connect) => {
  const [host = '', port] = address.split(':');
  const proxy = await startPausableProxy({ host, port: Number(port) });
  const connection = await connect({ address: `127.0.0.1:${proxy.port}`, tls: null });
  const workflows = createWorkflows({ connection, namespace, taskQueue });
  const real = await connectTemporal(target);
  const client = new Client({ connection: real, namespace });
  try {
    const toolTest = randomUUID();
    const gone = new AbortController();
    const tested = workflows.testTool(toolTest, gone.signal);
    const status = async () =>
      (
        await client.workflow
          .getHandle(`tool-test-${toolTest}`)
          .describe()
          .catch(() => null)
      )?.status.name;
    await expect.poll(status).toBe('RUNNING');
    proxy.pause();
    const ref = { workspace: 'w', flow: 'flows/f' };
    const wanted = { ref, note: 'n', times: [Date.now() + 86_400_000], paused: false, wake: false };
    const calls = [
      workflows.startRun('r'),
      workflows.startEval('e'),
      workflows.applyPush('w'),
      workflows.signalRun('r', 'event', 'p'),
      workflows.cancelRun('r'),
      workflows.terminateRun('r', 'test'),
      workflows.describeRun('r'),
      workflows.putSchedule(wanted),
      workflows.deleteSchedule(ref),
      drain(workflows.schedules()),
      drain(workflows.openRuns()),
    ];
    await Promise.all(calls.map((call) => expect(call).rejects.toMatchObject({ kind: 'unavailable' })));
    expect(await workflows.ping()).toBe(false);
    await workflows.whenEvalEnds('e', 300);
    gone.abort();
    await tested;
    // A client's connection closes once no call is on it.
    await workflows.close();
    await client.workflow.getHandle(`tool-test-${toolTest}`).terminate('test');
  } finally {
    await proxy.close();
    await real.close();
  }
});

async function drain(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _item of items);
}
