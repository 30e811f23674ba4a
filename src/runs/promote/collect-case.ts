import { loadPlan } from '../../content/index.js';
import type { NewDecision, Plan } from '../../format/index.js';
import { leavesOf } from '../../format/model.js';
import type { Sql, TableRow } from '../../platform/db/contract.js';
import { parseJson } from '../../shared/exact-json.js';
import { isRecord, type Json } from '../../shared/json.js';
import { renamedIds } from '../rerun/renamed-ids.js';
import { boundAnswers } from './bound-answers.js';

export interface PromotedRun {
  readonly id: string;
  readonly workspaceId: string;
  readonly planId: string;
  readonly rerunOf: string | null;
  /** The numbers of the steps that were copied from the run that this one reruns. */
  readonly copied: readonly number[];
}

export interface CollectedCase {
  readonly decisions: readonly NewDecision[];
  readonly canned: readonly { readonly tool: string; readonly answer: Json }[];
  /** What the case cannot reproduce of this run, as sentences. */
  readonly warnings: readonly string[];
  /** All runs that the case was read from. */
  readonly runs: readonly string[];
}

interface Found {
  readonly runs: string[];
  readonly decisions: NewDecision[];
  readonly answers: Answer[];
  readonly warnings: string[];
}

interface Answer {
  readonly tool: string;
  readonly answer: Json;
  readonly at: Date;
}

/**
 * Collects a run's external inputs, in order, with those of its subflows: who decided what, which events came, and what
 * its tools answered. The journal has already redacted secrets.
 */
export async function collectCase(sql: Sql, run: PromotedRun): Promise<CollectedCase> {
  const found: Found = { runs: [], decisions: [], answers: [], warnings: [] };
  await collectRun(sql, { run, path: '', depth: 0 }, found);
  const answers = found.answers.sort((a, b) => a.at.getTime() - b.at.getTime());
  const { canned, warnings } = boundAnswers(answers);
  const all = [...new Set([...found.warnings, ...warnings])];
  return { decisions: found.decisions, canned, warnings: all, runs: found.runs };
}

interface At {
  readonly run: PromotedRun;
  /** `step/` prefixes of the parent steps of a subflow. */
  readonly path: string;
  readonly depth: number;
}

const MAX_DEPTH = 16;

async function collectRun(sql: Sql, at: At, found: Found): Promise<void> {
  const { run, path, depth } = at;
  found.runs.push(run.id);
  const plan = await loadPlan({ db: sql }, run.workspaceId, run.planId);
  await collectDecisions(sql, { run, plan, path }, found);
  await collectAnswers(sql, { runId: run.id, plan, steps: null }, found);
  await collectTaken(sql, at, found);
  if (depth >= MAX_DEPTH) return;
  for (const child of await childrenOf(sql, run.id)) {
    await collectRun(sql, { run: child, path: `${path}${child.step}/`, depth: depth + 1 }, found);
  }
}

/** Collects the tool answers of copied steps from the journal of the run that this run reruns. */
async function collectTaken(sql: Sql, { run, path, depth }: At, found: Found): Promise<void> {
  if (run.rerunOf === null || run.copied.length === 0 || depth >= MAX_DEPTH) return;
  const before = await readRun(sql, run.rerunOf, run.workspaceId);
  if (!before) {
    found.warnings.push('the run whose results it took over is deleted, so its tools’ answers are not in the case');
    return;
  }
  const plan = await loadPlan({ db: sql }, run.workspaceId, run.planId);
  const old = await loadPlan({ db: sql }, before.workspaceId, before.planId);
  const taken = new Set(leavesOf(plan).flatMap(({ n, id }) => (run.copied.includes(n) ? [id] : [])));
  const renamed = renamedIds(old, plan);
  const ids = leavesOf(old).flatMap(({ id }) => (taken.has(renamed.get(id) ?? id) ? [id] : []));
  found.runs.push(before.id);
  await collectAnswers(sql, { runId: before.id, plan: old, steps: ids }, found);
  for (const child of await childrenOf(sql, before.id)) {
    if (!ids.includes(child.step)) continue;
    await collectRun(sql, { run: child, path: `${path}${child.step}/`, depth: depth + 1 }, found);
  }
  const numbers = leavesOf(old).flatMap(({ n, id }) => (ids.includes(id) && before.copied.includes(n) ? [n] : []));
  await collectTaken(sql, { run: { ...before, copied: numbers }, path, depth: depth + 1 }, found);
}

interface DecidedRow extends Pick<TableRow<'Step'>, 'id' | 'decision'> {
  readonly hasEvent: boolean;
  readonly event: Json;
  readonly edited: boolean;
}

/** Every gate and event of the run's steps in the order of their decision, including those of copied steps. */
async function collectDecisions(
  sql: Sql,
  { run, plan, path }: { readonly run: PromotedRun; readonly plan: Plan; readonly path: string },
  found: Found,
): Promise<void> {
  const steps = new Map(leavesOf(plan).map((step) => [step.id, step]));
  const rows = await sql.query<DecidedRow>({
    name: 'promote-decisions',
    text: `SELECT id, decision, event_payload IS NOT NULL AS "hasEvent", event_payload AS event, edits IS NOT NULL AS edited
      FROM step WHERE run_id = $1 AND item = 0 ORDER BY finished_at NULLS LAST, round, id`,
    values: [run.id],
  });
  for (const { id, decision, hasEvent, event, edited } of rows) {
    const step = steps.get(id);
    if (edited) found.warnings.push(`a person changed the work of step ${id}; a case has no such changes`);
    if (step?.wait?.kind === 'event' && hasEvent) {
      found.decisions.push({ step: `${path}${id}`, decision: 'event', event });
    }
    if (!step?.gate || !isRecord(decision)) continue;
    if (decision.decision === 'approve' || decision.decision === 'reject') {
      const note = typeof decision.note === 'string' && decision.note.trim() !== '' ? { note: decision.note } : {};
      found.decisions.push({ step: `${path}${id}`, decision: decision.decision, ...note });
      if (decision.form !== null && decision.form !== undefined)
        found.warnings.push(`the form that was filled in at step ${id} is not in the case`);
    } else found.warnings.push(`step ${id} was not decided in time; the case has no decision for it`);
  }
}

interface ToolAnswer extends Pick<TableRow<'Call'>, 'name' | 'step' | 'result'> {
  readonly at: Date;
}

/** The answers of file tools and MCP servers. Built-in tools work on the case's own files. */
async function collectAnswers(
  sql: Sql,
  { runId, plan, steps }: { readonly runId: string; readonly plan: Plan; readonly steps: readonly string[] | null },
  found: Found,
): Promise<void> {
  const rows = await sql.query<ToolAnswer>({
    name: 'promote-calls',
    text: `SELECT name, step, result, started_at AS at FROM call
      WHERE run_id = $1 AND kind = 'tool' AND state = 'finished' AND ($2::text[] IS NULL OR step = ANY($2))
      ORDER BY started_at, turn, call`,
    values: [runId, steps],
  });
  const names = new Set(Object.values(plan.agents).flatMap(({ tools }) => tools.map(({ name }) => name)));
  for (const { name, step, result, at } of rows) {
    const tool = cannedName(name);
    if (name === 'ask_human')
      found.warnings.push(`what a person answered to a question of step ${step} is not in the case`);
    if (!names.has(tool.split('.')[0] ?? '') || !isRecord(result)) continue;
    const text = String(result.text ?? '');
    if (result.isError === true)
      found.warnings.push(`a call of ${tool} failed; the case gives its message as an answer`);
    found.answers.push({ tool, answer: parsed(text), at });
  }
}

/** `tool__operation`, as models call it, is `tool.operation` in a case. */
function cannedName(name: string): string {
  return name.replace('__', '.');
}

/** Keeps an answer that is JSON as a value, so that people can read and edit it. */
function parsed(text: string): Json {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

type Child = PromotedRun & { readonly step: string };

async function childrenOf(sql: Sql, runId: string): Promise<Child[]> {
  const rows = await sql.query<Child>({
    name: 'promote-children',
    text: `SELECT id, workspace_id AS "workspaceId", plan_id AS "planId", NULL AS "rerunOf", '{}'::int[] AS copied,
        trigger->>'step' AS step FROM run WHERE parent_id = $1 ORDER BY created_at, id`,
    values: [runId],
  });
  return rows.filter(({ step }) => step !== null);
}

/** The run with the steps that it copied; undefined when it was deleted. */
export async function readRun(sql: Sql, runId: string, workspaceId: string): Promise<PromotedRun | undefined> {
  const [row] = await sql.query<PromotedRun>({
    name: 'promote-run',
    text: `SELECT id, workspace_id AS "workspaceId", plan_id AS "planId", rerun_of AS "rerunOf",
        coalesce((SELECT array_agg(n::int) FROM jsonb_array_elements_text(rerun->'copied') n), '{}') AS copied
      FROM run WHERE id = $1 AND workspace_id = $2`,
    values: [runId, workspaceId],
  });
  return row;
}
