import { raiseEvent } from '../content/index.js';
import type { CaseView } from '../contract/evals.js';
import type { Sql } from '../platform/db/contract.js';
import type { Json } from '../shared/json.js';
import { storableJson } from '../shared/storable-json.js';
import { EVAL_RUNS, type EvalRunRow, resultsOf } from './eval-run-rows.js';

/** Maximum number of failed cases in a notification, and characters for each. */
const MOST_CASES = 20;
const MOST_CHARACTERS = 300;

/**
 * Reports a failed eval run in the transaction of its end: raises `eval.failed`, which starts listening flows, and
 * notifies subscribers. Runs that a person stopped have not failed. Previews send no notifications.
 */
export async function reportFailedEval(sql: Sql, evalRunId: string): Promise<void> {
  const [row] = await sql.query<EvalRunRow & { readonly workspaceId: string }>({
    name: 'ended-eval',
    text: `SELECT x.*, y.workspace_id AS "workspaceId" FROM (${EVAL_RUNS} WHERE e.id = $1) x
      JOIN eval_run y ON y.id = x.id AND y.status <> 'stopped'`,
    values: [evalRunId],
  });
  if (!row) return;
  const { workspaceId, ...ended } = row;
  const { summary: run, cases } = resultsOf(ended);
  if (run.ok !== false) return;
  const bad = cases.filter(({ passed }) => passed === false);
  const body = {
    eval: run.eval,
    evalRunId,
    status: run.status,
    trigger: run.trigger,
    revision: run.revision,
    cases: run.cases,
    passed: run.passed,
    failed: run.failed,
    skipped: run.skipped,
    failedCases: bad.slice(0, MOST_CASES).map(({ name }) => name),
    error: run.error,
  };
  await raiseEvent(sql, { workspaceId, kind: 'eval.failed', body, runId: null });
  await sql.query({
    name: 'note-failed-eval',
    text: `INSERT INTO notice (tenant_id, workspace_id, event, data)
      SELECT tenant_id, id, 'eval.failed', $2 FROM workspace WHERE id = $1 AND preview_of IS NULL`,
    values: [workspaceId, storableJson({ ...body, reason: reasonOf(run.error, bad) } satisfies Record<string, Json>)],
  });
}

/** Why it failed, for people: a line for each case that did not pass, with its first failed assertion. */
function reasonOf(error: string | null, bad: readonly CaseView[]): string {
  const more = bad.length - MOST_CASES;
  return [
    ...(error === null ? [] : [error]),
    ...bad.slice(0, MOST_CASES).map(lineOf),
    ...(more > 0 ? [`and ${more} more`] : []),
  ].join('\n');
}

function lineOf({ name, error, assertions }: CaseView): string {
  const broken = assertions.find(({ passed }) => !passed);
  const why = broken ? `${broken.text}: ${broken.evidence}` : (error ?? 'it did not pass');
  const line = `${name}: ${why}`.replace(/\s+/g, ' ');
  return line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS - 1)}…` : line;
}
