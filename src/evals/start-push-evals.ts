import type { StartPushEvals } from '../content/contract.js';
import { insertEvalRun } from './insert-eval-run.js';

/**
 * Starts the evals of a new live revision whose trigger is `push`, in the transaction that makes it live. The deploy
 * does not wait for them. Evals without cases are left out.
 */
export const startPushEvals: StartPushEvals = async (sql, at, evals) => {
  const pushed = evals.filter(({ trigger, cases }) => trigger === 'push' && cases.length > 0);
  if (pushed.length === 0) return [];
  const { workspaceId, tenantId, revision } = at;
  const [row] = await sql.query<{ plans: Readonly<Record<string, string>>; librarySeq: number }>(
    `SELECT plans_at(r.workspace_id, r.seq, l.seq, r.plans) AS plans, l.seq AS "librarySeq"
      FROM revision r, library_of($3) AS l (seq) WHERE r.workspace_id = $1 AND r.id = $2`,
    [workspaceId, revision, tenantId],
  );
  const started: string[] = [];
  for (const spec of pushed) {
    const planId = row?.plans[spec.target];
    if (!row || planId === undefined) continue;
    const { librarySeq } = row;
    const startedBy = { ...at.by, person: null };
    const cases = spec.cases.map((_, index) => index);
    started.push(
      await insertEvalRun(sql, {
        tenantId,
        workspaceId,
        revision,
        librarySeq,
        planId,
        spec,
        trigger: 'push',
        startedBy,
        cases,
      }),
    );
  }
  return started;
};
