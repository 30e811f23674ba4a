import { hostname } from 'node:os';
import { Client, Connection } from '@temporalio/client';
import { startedAt } from '../../src/platform/embedded/process-identity.js';

/** `PendingActivityState` of Temporal's API. */
const STARTED = 2;

/** The SDK's default identity of a worker is `<pid>@<host>`. */
function isDead(identity: string | null | undefined): boolean {
  const [pid, host] = identity?.split('@') ?? [];
  return host === hostname() && startedAt(Number(pid)) === null;
}

/**
 * Reports to Temporal the activities of workers whose process is gone. Temporal notices a death by missed heartbeats
 * after 10 s, and retries then. A test that kills often need not wait for that each time; `fire-calls`, `fire-kill`,
 * `fire-deaths`, `fire-workers` and `chaos` do wait. Deaths within 8 s of a worker's last beat in `worker_seen` are not counted against its
 * call, so a test of those counts must wait too.
 */
export async function reportDeaths({ address, namespace, taskQueue }: Queue): Promise<void> {
  const connection = await Connection.connect({ address });
  const client = new Client({ connection, namespace });
  try {
    const open = client.workflow.list({ query: `TaskQueue = '${taskQueue}' AND ExecutionStatus = 'Running'` });
    const ids: string[] = [];
    for await (const { workflowId } of open) ids.push(workflowId);
    await Promise.all(ids.map((id) => reportDeathsIn(client, id)));
  } finally {
    await connection.close();
  }
}

export interface Queue {
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
}

async function reportDeathsIn(client: Client, workflowId: string): Promise<void> {
  const { namespace } = client.options;
  const { raw } = await client.workflow.getHandle(workflowId).describe();
  // The workflow's next task goes to the dead worker otherwise, and from there to others after 3 s.
  await client.workflowService.resetStickyTaskQueue({ namespace, execution: { workflowId } });
  const cut = raw.pendingActivities?.filter((one) => one.state === STARTED && isDead(one.lastWorkerIdentity)) ?? [];
  for (const { activityId } of cut) {
    const failure = { message: 'the worker was killed', applicationFailureInfo: { type: 'WorkerDied' } };
    // It may have timed out, or its workflow may have ended, in the meantime.
    await client.workflowService
      .respondActivityTaskFailedById({ namespace, workflowId, activityId: activityId ?? '', failure })
      .catch(() => undefined);
  }
}
