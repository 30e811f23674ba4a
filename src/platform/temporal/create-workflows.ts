import {
  Client,
  Connection,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { untilAborted } from '../../shared/deadline.js';
import { RUN_FLOW_LOCAL } from '../../workflows/contract.js';
import { atMost, type BoundedCalls, boundCalls } from './bounded-calls.js';
import type { OpenRun, Workflows } from './contract.js';
import { createSchedules } from './create-schedules.js';
import { EagerStarts } from './eager-starts.js';

export interface WorkflowsOptions {
  readonly connection: Connection | NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
  /** Runs may begin with a local activity. Never when left out. */
  readonly localStarts?: LocalStarts;
}

export interface LocalStarts {
  /** False while a worker of another build lives, which could not replay such a run. */
  isAllowed(): boolean | Promise<boolean>;
  /** Temporal has the run, and this process has its first workflow task. */
  onStarted?(runId: string): void;
}

/** The types of workflows that services start. The id of each is its row's id. */
const RUN_FLOW = 'runFlow';
/** The workflow that calls a tool for a test. */
const TEST_TOOL = 'testTool';
const EVAL_RUN = 'evalRun';
const APPLY_PUSH = 'applyPush';
const PING_TIMEOUT_MS = 2_000;

/**
 * The interface to Temporal. An action that was done already succeeds; when Temporal does not answer, it throws a
 * Refusal `unavailable`.
 */
export function createWorkflows({ connection, namespace, taskQueue, localStarts }: WorkflowsOptions): Workflows {
  const client = new Client({ connection, namespace });
  // Only a worker's own connection can receive the first task with the answer; others throw.
  const eagerStarts = connection instanceof Connection ? null : EagerStarts.of(connection);
  const calls = boundCalls(connection);
  const { call } = calls;
  const callRun = (runId: string, work: (handle: WorkflowHandle) => Promise<unknown>) =>
    call(() => work(client.workflow.getHandle(runId))).then(() => undefined, unless(WorkflowNotFoundError, undefined));

  const startOnce = (type: string, workflowId: string, { input, isEager }: { input: object; isEager: boolean }) =>
    call(() =>
      client.workflow.start(type, {
        workflowId,
        args: [input],
        taskQueue,
        // The default would run a closed id again.
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        ...(isEager && { requestEagerStart: true }),
      }),
    ).then(({ eagerlyStarted }) => eagerlyStarted, unless(WorkflowExecutionAlreadyStartedError, false));
  /** Answers whether this process got the workflow's first task. */
  const start = (type: string, workflowId: string, input: object): Promise<boolean> =>
    eagerStarts === null
      ? startOnce(type, workflowId, { input, isEager: false })
      : eagerStarts.run((isEager) => startOnce(type, workflowId, { input, isEager }));

  async function startRun(runId: string, { isAgain = false } = {}): Promise<void> {
    // A run that was lost may have a call that ends its worker: it gets an ordinary activity, with heartbeats.
    const isLocal = !isAgain && ((await localStarts?.isAllowed()) ?? false);
    const isHere = await start(isLocal ? RUN_FLOW_LOCAL : RUN_FLOW, runId, { runId });
    if (isLocal && isHere) localStarts?.onStarted?.(runId);
  }

  return {
    startRun,
    startEval: (evalRunId) => start(EVAL_RUN, evalRunId, { evalRunId }).then(() => undefined),
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
    signalRun: (runId, signal, park) => callRun(runId, (handle) => handle.signal(signal, park)),
    cancelRun: (runId) => callRun(runId, (handle) => handle.cancel()),
    terminateRun: (runId, reason) => callRun(runId, (handle) => handle.terminate(reason)),
    describeRun: (runId) =>
      call(() => client.workflow.getHandle(runId).describe()).then(
        ({ status }) => (status.name === 'RUNNING' ? 'running' : 'closed'),
        unless(WorkflowNotFoundError, 'missing' as const),
      ),
    testTool: (id, signal) => testTool(client, { id, taskQueue, signal, calls }),
    ...createSchedules({ client, taskQueue, calls }),
    openRuns: () => openRuns(client, taskQueue, calls),
    ping: () => ping(connection),
    close: () => connection.close(),
  };
}

interface ToolTest {
  readonly id: string;
  readonly taskQueue: string;
  readonly signal: AbortSignal;
  readonly calls: BoundedCalls;
}

/** More than a test takes with all its waits, so that an abandoned test ends by itself. */
const TOOL_TEST_MS = 120_000;

async function testTool(client: Client, { id, taskQueue, signal, calls }: ToolTest): Promise<void> {
  const workflowId = `tool-test-${id}`;
  const handle = await calls.call(() =>
    client.workflow.start(TEST_TOOL, {
      workflowId,
      args: [{ id }],
      taskQueue,
      workflowExecutionTimeout: TOOL_TEST_MS,
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
    }),
  );
  const cancel = (): void => void calls.call(() => handle.cancel()).catch(() => undefined);
  const endsAt = Date.now() + TOOL_TEST_MS;
  const isOver = () => signal.aborted || Date.now() >= endsAt;
  const ended = atMost(TOOL_TEST_MS, () => calls.poll(() => handle.result(), isOver));
  await untilAborted(ended, signal).catch(cancel);
}

async function* openRuns(client: Client, taskQueue: string, { each }: BoundedCalls): AsyncIterable<OpenRun> {
  const query = `WorkflowType IN ('${RUN_FLOW}', '${RUN_FLOW_LOCAL}') AND ExecutionStatus = 'Running'`;
  for await (const found of each(client.workflow.list({ query, pageSize: 1_000 }))) {
    // Two installations may share a namespace, each with its own task queue.
    if (found.taskQueue === taskQueue) yield { id: found.workflowId, startedAt: found.startTime.getTime() };
  }
}

type ErrorClass = abstract new (...args: never[]) => Error;

function unless<T>(expected: ErrorClass, answer: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof expected) return answer;
    throw error;
  };
}

async function ping(connection: WorkflowsOptions['connection']): Promise<boolean> {
  let isThere = false;
  await atMost(PING_TIMEOUT_MS, async () => {
    await connection.withDeadline(Date.now() + PING_TIMEOUT_MS, () => connection.workflowService.getSystemInfo({}));
    isThere = true;
  });
  return isThere;
}
