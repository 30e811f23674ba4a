import type { Deps } from '../../deps.js';
import type { StepPlan } from '../../format/model.js';
import type { Sql } from '../../platform/db/contract.js';
import { startDeadline } from '../../shared/deadline.js';
import { toJson } from '../../shared/exact-json.js';
import type { Json } from '../../shared/json.js';
import { errorMessage } from '../../shared/refusal.js';
import {
  type AgentTool,
  assembleTools,
  type CallContext,
  createLaneServers,
  dropLane,
  openLane,
  type ToolOutcome,
} from '../../tools/index.js';
import { TOOL_TEST_SECONDS } from '../../workflows/contract.js';
import { argumentFault } from '../agent/invalid-call.js';
import { Ended } from '../errors.js';
import { SecretMask } from '../secrets/secret-mask.js';
import { openStepSecrets } from '../secrets/step-secrets.js';
import { parseToolTest, type ToolTestResult, type ToolTestSpec } from './tool-test-row.js';

interface Claimed {
  readonly id: string;
  readonly tenantId: string;
  readonly workspaceId: string;
  readonly spec: Json;
}

const LANE = 'main';

/**
 * Calls a tool once as a step of its agent would: in its own sandbox, with only the secrets that it may use. The
 * answer, with secrets masked, goes into the test's row; files are deleted.
 */
export async function runToolTest(deps: Deps, id: string, cancelled: AbortSignal): Promise<void> {
  const claimed = await claim(deps.db, id);
  if (!claimed) return;
  const mask = new SecretMask();
  const began = deps.clock.now();
  const deadline = startDeadline(TOOL_TEST_SECONDS * 1_000, cancelled);
  let outcome: ToolOutcome;
  try {
    outcome = await callTool(deps, claimed, { mask, signal: deadline.signal });
  } catch (error) {
    if (cancelled.aborted) throw error;
    const why = deadline.isOver() ? `it took longer than ${TOOL_TEST_SECONDS} s and was ended` : errorMessage(error);
    outcome = { text: mask.text(why), isError: true };
  } finally {
    deadline.end();
    await dropLane(deps, id).catch((error: unknown) =>
      deps.log.warn({ err: error, test: id }, 'failed to remove a scratch folder'),
    );
  }
  await finish(deps.db, id, mask.value(resultOf(outcome, deps.clock.now() - began)));
}

/** Claims the test once: a second attempt finds it claimed. */
async function claim(sql: Sql, id: string): Promise<Claimed | undefined> {
  const [row] = await sql.query<Claimed>(
    `UPDATE tool_test SET started_at = now() WHERE id = $1 AND started_at IS NULL
      RETURNING id, tenant_id AS "tenantId", workspace_id AS "workspaceId", spec`,
    [id],
  );
  return row;
}

async function finish(sql: Sql, id: string, result: ToolTestResult): Promise<void> {
  await sql.query('UPDATE tool_test SET finished_at = now(), result = $2 WHERE id = $1', [id, toJson(result)]);
}

interface Within {
  readonly mask: SecretMask;
  readonly signal: AbortSignal;
}

async function callTool(deps: Deps, claimed: Claimed, { mask, signal }: Within): Promise<ToolOutcome> {
  const spec = parseToolTest(claimed.spec);
  const { plan, revision, librarySeq = 0, args } = spec;
  const step = stepOf(spec);
  const agent = plan.agents[spec.agent];
  if (!agent) throw new Error(`the plan has no agent ${spec.agent}`);
  const { id, tenantId, workspaceId } = claimed;
  const run = { id, tenantId, workspaceId, revision, librarySeq, flow: plan.flow, mode: 'test' };
  const quiet = { ...deps, log: mask.log(deps.log) };
  const secrets = await openStepSecrets({ deps: quiet, run, plan, mask }, step, agent);
  const servers = createLaneServers(quiet, signal);
  try {
    const folder = await openLane(quiet, run, LANE);
    const context: CallContext = {
      run,
      lane: LANE,
      plan,
      step,
      agent,
      folder,
      openFolder: async () => folder,
      servers,
      seen: new Map(),
      results: new Map(),
      secrets,
      signal,
      guard: (sql) => stillOpen(sql, id),
      callKey: `tool-test/${id}`,
    };
    const tools = await assembleTools(quiet, context);
    const tool = pick(spec, tools);
    const fault = typeof tool === 'string' ? tool : argumentFault(tool.spec.parameters, args);
    return typeof tool === 'string' || fault !== null
      ? { text: fault ?? '', isError: true }
      : await tool.run(args, context);
  } finally {
    await servers.close();
    await secrets.close();
  }
}

/** The plan's only step, by the agent, with what the tool itself needs. */
function stepOf({ plan, tool, agent }: ToolTestSpec): StepPlan {
  const needs = plan.agents[agent]?.tools.find(({ name }) => name === tool)?.secrets ?? [];
  return {
    kind: 'step',
    n: 1,
    id: 'test',
    title: 'Test',
    agent,
    instruction: [],
    output: 'text',
    onFail: 'stop',
    secrets: needs,
    tools: [tool],
  };
}

function pick({ tool, operation }: ToolTestSpec, tools: readonly AgentTool[]): AgentTool | string {
  const wanted = operation === null ? tool : `${tool}.${operation}`;
  const found = tools.find(({ ref, spec }) => ref === wanted || spec.name === wanted || spec.name === operation);
  if (found) return found;
  const [only] = tools;
  if (operation === null && only && tools.length === 1) return only;
  // Its document or server could not be read, so it has no operations: answer with the reason.
  if (only?.ref === tool && only.fault !== undefined) return only.fault;
  const names = tools.map(({ ref }) => ref.slice(tool.length + 1)).filter((name) => name !== '');
  if (names.length === 0) return `${tool} has no operations: leave path out`;
  const what = operation === null ? `${tool} has several operations` : `${tool} has no operation ${operation}`;
  const more = names.length > 50 ? `, and ${names.length - 50} more` : '';
  return `${what}: name one in path, of ${names.slice(0, 50).join(', ')}${more}`;
}

/** Throws once a test's row is deleted or ended, so that the test writes nothing more. */
async function stillOpen(sql: Sql, id: string): Promise<void> {
  const [row] = await sql.query('SELECT 1 FROM tool_test WHERE id = $1 AND finished_at IS NULL FOR SHARE', [id]);
  if (!row) throw new Ended();
}

function resultOf({ text, isError, detail = {}, truncated = false }: ToolOutcome, durationMs: number): ToolTestResult {
  const status = [detail.status, detail.exitCode].find((one) => typeof one === 'number');
  return { text, isError, status: typeof status === 'number' ? status : null, truncated, durationMs };
}
