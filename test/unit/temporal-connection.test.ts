import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { createWorkflows, DrainedConnection, switchWorkflows } from '../../src/platform/temporal/index.js';
import { recordingLog } from '../support/recording-log.js';

/** An address on which connections are refused from now on. */
async function deadAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `127.0.0.1:${port}`;
}

// A retry on a closed channel throws in the SDK's timer: Vitest fails the run for it, as it would end the service.

test('a connection that is closed while a call waits for its retry closes once the call has its answer', async () => {
  const connection = DrainedConnection.open({ address: await deadAddress() });
  const deadline = Date.now() + 400;
  const calls = [1, 2, 3].map(() =>
    connection.withDeadline(deadline, () => connection.workflowService.getSystemInfo({})),
  );
  const answers = Promise.allSettled(calls);
  await connection.close();
  // They are tried again until then.
  expect(Date.now()).toBeGreaterThanOrEqual(deadline);
  expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  // Once it is closed a call is refused to its caller.
  await expect(connection.workflowService.getSystemInfo({})).rejects.toThrow('Channel has been shut down');
  await connection.close();
});

test('a worker that connects while a ping is on the first connection replaces it without harm to either', async () => {
  const lines: object[] = [];
  const at = async () =>
    createWorkflows({
      connection: DrainedConnection.open({ address: await deadAddress() }),
      namespace: 'default',
      taskQueue: 'queue',
    });
  const switched = switchWorkflows(await at(), recordingLog(lines));
  const pings = [switched.workflows.ping()];
  switched.use(await at());
  pings.push(switched.workflows.ping());
  switched.use(await at());
  expect(await Promise.all(pings)).toEqual([false, false]);
  await switched.workflows.close();
  expect(lines).toEqual([]);
});
