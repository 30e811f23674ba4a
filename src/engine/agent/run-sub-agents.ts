import type { ToolCall } from '../../models/contract.js';
import { failpoint } from '../../shared/failpoint.js';
import { newId } from '../../shared/ids.js';
import { isRecord } from '../../shared/json.js';
import { toNano } from '../../shared/money.js';
import { limitResult, type ToolOutcome } from '../../tools/index.js';
import type { Stop } from '../../workflows/contract.js';
import { TOO_LONG } from '../clocks/end-overdue.js';
import { capStep, childResult, countChild, pinnedPlan, readChildRow, writeChild } from '../steps/child-run.js';
import { least } from './caps.js';
import { finishCall, preview, refuseCall, startCall } from './record-call.js';
import { RUN_AGENT } from './run-agent-tool.js';
import { journalKey, type Session, type TurnCalls } from './session.js';

/** Maximum depth of sub-agents: a third-level sub-agent cannot delegate. */
const DEEPEST = 3;
/** Maximum number of active child runs of a turn. */
const AT_ONCE = 8;
const MAX_FILES = 100;

interface Delegated {
  readonly index: number;
  readonly call: ToolCall;
  readonly child: string;
}

/**
 * Makes the `run_agent` calls of a turn in parallel. Each is a child run with its own record, like a subflow's. It is
 * written with the start of its call, so the work is delegated once, whatever crashes. A stop waits for the child runs.
 */
export async function runSubAgents(
  session: Session,
  calls: TurnCalls,
  indexes: readonly number[],
): Promise<Stop | null> {
  if (indexes.length === 0) return null;
  const open: string[] = [];
  const fresh: number[] = [];
  let longestMs = 0;
  for (const index of indexes) {
    const handed = delegatedAt(session, calls, index);
    if (handed === null) {
      fresh.push(index);
      continue;
    }
    const end = await collectResult(session, calls, handed);
    if (end === null) open.push(handed.child);
    else longestMs = Math.max(longestMs, end.activeMs);
  }
  const { writer } = session.lane;
  const isCounted = countTime(session, longestMs);
  // Start the next calls of the turn once the current ones have ended.
  if (open.length === 0) open.push(...(await startChildren(session, calls, fresh)));
  const [first, ...also] = open;
  writer.state = first === undefined ? 'running' : 'child';
  // The next advance applies what is left of the step's time.
  if (first === undefined && !isCounted) return null;
  await writer.flush();
  failpoint('handed-over');
  if (first === undefined) return { kind: 'again' };
  return { kind: 'subflow', runId: first, ...(also.length === 0 ? {} : { also }) };
}

/** The child run that a call started; null when it has started none. */
function delegatedAt({ journal }: Session, { turn, calls }: TurnCalls, index: number): Delegated | null {
  const call = calls[index];
  const result = journal.get(journalKey(turn, index + 1))?.result;
  const child = isRecord(result) ? result.child : undefined;
  return call && typeof child === 'string' ? { index, call, child } : null;
}

/** Makes the child's end the call's end, in one write with its cost; null while the child is active. */
async function collectResult(
  session: Session,
  { turn, results }: TurnCalls,
  { index, call, child }: Delegated,
): Promise<{ readonly activeMs: number } | null> {
  const { lane, state } = session;
  const row = await readChildRow(lane, child);
  if (row && !row.ended) return null;
  const outcome = await outcomeOf(session, call, child, row);
  countChild(lane, state, child, row?.spent ?? 0n);
  finish(session, turn, { index, call, child }, outcome);
  results[index] = { callId: call.id, name: call.name, text: outcome.text, isError: outcome.isError };
  return { activeMs: row?.activeMs ?? 0 };
}

async function outcomeOf(
  session: Session,
  call: ToolCall,
  child: string,
  row: Awaited<ReturnType<typeof readChildRow>>,
): Promise<ToolOutcome> {
  const { lane } = session;
  const name = agentOf(call);
  if (!row) return failed(`${name} did not answer: its run is gone`);
  if (row.status !== 'completed') {
    const why = row.overdue ? TOO_LONG : (row.error ?? 'without an error message');
    return failed(`${name} did not finish: ${why}`);
  }
  const { result } = await childResult(lane, child, row.planId);
  const text = [result ?? '(no text)', await filesOf(lane, child)].filter((part) => part !== '').join('\n\n');
  // A long result is cut for the model, and saved whole.
  await session.folder();
  const outcome = { text: lane.mask.text(text), isError: false };
  return limitResult(lane.deps, session.context, { tool: RUN_AGENT, outcome });
}

function failed(text: string): ToolOutcome {
  return { text, isError: true };
}

/** The files of the child's steps, with paths for Read. */
async function filesOf({ deps }: Session['lane'], child: string): Promise<string> {
  const rows = await deps.db.query<{ agent: string; path: string }>(
    'SELECT DISTINCT agent, path FROM run_file WHERE run_id = $1 ORDER BY agent, path LIMIT $2',
    [child, MAX_FILES + 1],
  );
  if (rows.length === 0) return '';
  const paths = rows
    .slice(0, MAX_FILES)
    .map(({ agent, path }) => `- ${path.replace(/^outputs\//, `outputs/${agent}/`)}`);
  return `Files that it left:\n${paths.join('\n')}${rows.length > MAX_FILES ? '\n- …' : ''}`;
}

/** Starts the next calls, or answers those that cannot start. Returns the ids of the child runs to wait for. */
async function startChildren(session: Session, calls: TurnCalls, fresh: readonly number[]): Promise<string[]> {
  if (fresh.length === 0) return [];
  const { lane, step, agent } = session;
  const isDeepest = (await depthOf(session)) >= DEEPEST;
  const cap = stepCap(session);
  if (cap !== null && !isDeepest) await capStep(lane, step.id, cap);
  const started: string[] = [];
  for (const index of fresh) {
    const call = calls.calls[index];
    if (!call || started.length >= AT_ONCE) continue;
    const pinned = isDeepest ? null : await pinnedPlan(lane, `agents/${agentOf(call)}`);
    if (pinned === null) {
      const text = isDeepest
        ? `work is delegated ${DEEPEST} deep at most, and ${agent.name} is the last of them: do it yourself, or answer what is left to do`
        : `there is no agent ${agentOf(call)} in the revision of this run`;
      refuseCall(session, calls.turn, index + 1, { call, why: text, isError: true });
      calls.results[index] = { callId: call.id, name: call.name, text, isError: true };
      continue;
    }
    const child = newId();
    const limit = session.endsAt === null ? null : Math.max(1, session.endsAt - lane.deps.clock.now());
    await writeChild(lane, { id: child, pinned, input: taskOf(call), step: step.id, limit });
    const { handed = [] } = lane.writer.memory;
    lane.writer.memory = { ...lane.writer.memory, handed: [...handed, child] };
    startCall(session, calls.turn, index + 1, { call, acts: true, child });
    started.push(child);
  }
  return started;
}

function finish(session: Session, turn: number, { index, call, child }: Delegated, outcome: ToolOutcome): void {
  const { lane, step, state } = session;
  finishCall(session, turn, index + 1, { call, acts: true, state: 'finished', outcome, child });
  lane.writer.event('tool.finished', {
    step: step.id,
    item: state.item,
    round: state.round,
    turn,
    name: call.name,
    isError: outcome.isError,
    preview: preview(outcome.text),
    runId: child,
  });
}

/** The number of agents above this run that delegated its work. */
async function depthOf({ lane }: Session): Promise<number> {
  const [row] = await lane.deps.db.query<{ depth: number }>({
    name: 'handed-depth',
    text: `WITH RECURSIVE up AS (
        SELECT parent_id, flow FROM run WHERE id = $1
        UNION ALL SELECT r.parent_id, r.flow FROM run r JOIN up ON r.id = up.parent_id WHERE starts_with(up.flow, 'agents/'))
      SELECT count(*) FILTER (WHERE starts_with(flow, 'agents/') AND parent_id IS NOT NULL)::int AS depth FROM up`,
    values: [lane.run.id],
  });
  return row?.depth ?? 0;
}

/**
 * The maximum cost of all work under this step, nano-USD: the smaller of the step's and the agent's budget; null
 * without either.
 */
function stepCap({ step, agent }: Session): bigint | null {
  const budgetUsd = least([step.budgetUsd, agent.budgetUsd]);
  return budgetUsd === undefined ? null : toNano(budgetUsd);
}

/** Counts the child runs' time against the step's own time limit. The longest of parallel ones counts. */
function countTime({ lane, endsAt }: Session, activeMs: number): boolean {
  if (activeMs === 0 || endsAt === null) return false;
  const { writer } = lane;
  writer.memory = { ...writer.memory, since: (writer.memory.since ?? lane.deps.clock.now()) - activeMs };
  return true;
}

function agentOf({ args }: ToolCall): string {
  return isRecord(args) ? String(args.agent ?? '') : '';
}

function taskOf({ args }: ToolCall): string {
  return isRecord(args) ? String(args.task ?? '') : '';
}
