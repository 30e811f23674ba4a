import type { StoppedEval } from '../contract/evals.js';
import type { Deps } from '../deps.js';
import { abortLive, announceRuns } from '../engine/index.js';
import { audit } from '../people/index.js';
import { notFound } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { findEval } from './find-eval.js';
import { cutEval } from './work/end-eval.js';

/** Stops an eval run and the runs of its cases. Stopping one that has ended answers the same and changes nothing. */
export async function stopEvalRun(
  deps: Deps,
  caller: Caller,
  input: { readonly workspace: string; readonly eval: string; readonly id: string },
): Promise<StoppedEval> {
  const ended = await deps.db.transaction(async (sql) => {
    const workspace = await findEval(sql, caller, input);
    const isId = /^[0-9a-z]{1,40}$/.test(input.id);
    const [row] = isId
      ? await sql.query('SELECT 1 FROM eval_run WHERE id = $1 AND workspace_id = $2 AND eval = $3', [
          input.id,
          workspace.id,
          input.eval,
        ])
      : [];
    if (!row) throw notFound('eval run');
    const cut = await cutEval(sql, input.id, { status: 'stopped', error: `stopped by ${caller.actor.label}` });
    if (cut) await audit(sql, caller, 'eval.stop', input.id, { eval: input.eval });
    return cut;
  });
  for (const id of ended ?? []) abortLive(id);
  void announceRuns(deps, ended ?? []);
  return { ok: true, stopped: ended !== null };
}
