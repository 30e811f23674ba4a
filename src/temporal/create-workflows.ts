import {
  Client,
  type Connection,
  isGrpcServiceError,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { Refusal } from '../shared/refusal.js';
import type { OpenRun, Workflows } from './contract.js';
import { createSchedules } from './create-schedules.js';

export interface WorkflowsOptions {
  readonly connection: Connection | NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
}

/** The workflows that the outside starts, by their names: the id of each is its row's. */
const RUN_FLOW = 'runFlow';
/** And the one that calls a tool for a test. */
const TEST_TOOL = 'testTool';
const EVAL_RUN = 'evalRun';
const APPLY_PUSH = 'applyPush';
const CALL_TIMEOUT_MS = 10_000;
const PING_TIMEOUT_MS = 2_000;

/** Temporal as services know it. What was done already counts as done; a Temporal that is away is `unavailable`. */
export function createWorkflows({ connection, namespace, taskQueue }: WorkflowsOptions): Workflows {
  const client = new Client({ connection, namespace });
  // Only a worker's own connection can take the first task along with the answer; on another it throws.
  const requestEagerStart = connection instanceof NativeConnection;
  const call = <T>(work: () => Promise<T>) => within(connection, work);
  const tell = (runId: string, work: (handle: WorkflowHandle) => Promise<unknown>) =>
    call(() => work(client.workflow.getHandle(runId))).then(() => undefined, unless(WorkflowNotFoundError, undefined));

  const start = (type: string, workflowId: string, input: object) =>
    call(() =>
      client.workflow.start(type, {
        workflowId,
        args: [input],
        taskQueue,
        // The default would run a closed id again.
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        ...(requestEagerStart ? { requestEagerStart } : {}),
      }),
    ).then(() => undefined, unless(WorkflowExecutionAlreadyStartedError, undefined));

  return {
    startRun: (runId) => start(RUN_FLOW, runId, { runId }),
    startEval: (evalRunId) => start(EVAL_RUN, evalRunId, { evalRunId }),
    whenEvalEnds: (evalRunId, withinMs) =>
      atMost(withinMs, () =>
        connection.withDeadline(Date.now() + withinMs, () => client.workflow.getHandle(evalRunId).result()),
      ),
    applyPush: (workspaceId) =>
      call(() =>
        client.workflow.signalWithStart(APPLY_PUSH, {
          workflowId: `apply-push-${workspaceId}`,
          args: [{ workspaceId }],
          signal: 'look',
          taskQueue,
        }),
      ).then(() => undefined),
    signalRun: (runId, signal, park) => tell(runId, (handle) => handle.signal(signal, park)),
    cancelRun: (runId) => tell(runId, (handle) => handle.cancel()),
    terminateRun: (runId, reason) => tell(runId, (handle) => handle.terminate(reason)),
    describeRun: (runId) =>
      call(() => client.workflow.getHandle(runId).describe()).then(
        ({ status }) => (status.name === 'RUNNING' ? 'running' : 'closed'),
        unless(WorkflowNotFoundError, 'missing' as const),
      ),
    testTool: (id, signal) => testTool(client, { id, taskQueue, signal, call }),
    ...createSchedules({ client, taskQueue, call }),
    openRuns: () => openRuns(client, taskQueue),
    ping: () => ping(connection),
    close: () => connection.close(),
  };
}

interface ToolTest {
  readonly id: string;
  readonly taskQueue: string;
  readonly signal: AbortSignal;
  readonly call: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Longer than a test takes with all its waits: what nobody works on ends by itself. */
const TOOL_TEST_TIMEOUT = '2 minutes';

async function testTool(client: Client, { id, taskQueue, signal, call }: ToolTest): Promise<void> {
  const workflowId = `tool-test-${id}`;
  const handle = await call(() =>
    client.workflow.start(TEST_TOOL, {
      workflowId,
      args: [{ id }],
      taskQueue,
      workflowExecutionTimeout: TOOL_TEST_TIMEOUT,
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
    }),
  );
  const cancel = (): void => void call(() => handle.cancel()).catch(() => undefined);
  const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  if (signal.aborted) return cancel();
  await Promise.race([handle.result().catch(() => undefined), aborted.then(cancel)]);
}

async function* openRuns(client: Client, taskQueue: string): AsyncIterable<OpenRun> {
  const query = `WorkflowType = '${RUN_FLOW}' AND ExecutionStatus = 'Running'`;
  try {
    for await (const found of client.workflow.list({ query, pageSize: 1_000 })) {
      // Two installations may share a namespace, each with a queue of its own.
      if (found.taskQueue === taskQueue) yield { id: found.workflowId, startedAt: found.startTime.getTime() };
    }
  } catch (error) {
    throw toRefusal(error);
  }
}

async function within<T>(connection: WorkflowsOptions['connection'], work: () => Promise<T>): Promise<T> {
  try {
    return await connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, work);
  } catch (error) {
    throw toRefusal(error);
  }
}

type ErrorClass = abstract new (...args: never[]) => Error;

function unless<T>(expected: ErrorClass, answer: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof expected) return answer;
    throw error;
  };
}

/** gRPC's codes for a server that is away or too slow (https://grpc.io/docs/guides/status-codes/). */
const AWAY = new Set([1, 4, 8, 14]);

function toRefusal(error: unknown): unknown {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const grpc = [error, cause].find(isGrpcServiceError);
  if (!grpc || !AWAY.has(grpc.code)) return error;
  const refusal = new Refusal('unavailable', 'Temporal does not answer; try again in a moment', { retryAfter: 2 });
  refusal.cause = error;
  return refusal;
}

/** Settles when the work does, however it ends, or when the time is over: a worker's own connection knows no abort signal (SDK 1.24). */
async function atMost(ms: number, work: () => Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  const ended = work().then(
    () => undefined,
    () => undefined,
  );
  await Promise.race([ended, over]).finally(() => clearTimeout(timer));
}

async function ping(connection: WorkflowsOptions['connection']): Promise<boolean> {
  let isThere = false;
  await atMost(PING_TIMEOUT_MS, async () => {
    await connection.withDeadline(Date.now() + PING_TIMEOUT_MS, () => connection.workflowService.getSystemInfo({}));
    isThere = true;
  });
  return isThere;
}
