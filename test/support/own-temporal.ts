import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { startTestTemporal } from './temporal-server.js';

/** A Temporal of the test's own, whose limits it sets, and a client of it. */
export async function ownTemporal(limits: Readonly<Record<string, number>>) {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-own-temporal-'));
  let server = await startTestTemporal(folder, undefined, limits);
  const { address } = server;
  const namespace = 'signalbox';
  const client = new Client({ connection: await Connection.connect({ address }), namespace });
  return {
    at: { address, namespace },
    client,
    /** Ends the server, and starts it again on its data and its port when the work is done. */
    async whileAway(work: () => Promise<void>): Promise<void> {
      await server.stop();
      try {
        await work();
      } finally {
        server = await startTestTemporal(folder, Number(address.split(':').at(-1)), limits);
      }
    },
    async close(): Promise<void> {
      await client.connection.close();
      await server.stop();
      await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

/**
 * The whole history of a run that ends: its rows say so before its last activity has told Temporal, and what became of
 * an activity stands in no history before that.
 */
export async function closedHistoriesOf(client: Client, id: string) {
  await client.workflow
    .getHandle(id)
    .result()
    .catch(() => undefined);
  return historiesOf(client, id);
}

/** The history of every execution of a run so far, the first one first. */
export async function historiesOf(client: Client, id: string) {
  const found = [];
  let runId = (await client.workflow.getHandle(id).describe()).raw.workflowExecutionInfo?.firstRunId ?? '';
  while (runId !== '') {
    const history = await client.workflow.getHandle(id, runId).fetchHistory();
    found.push(history);
    runId = history.events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? '';
  }
  return found;
}
