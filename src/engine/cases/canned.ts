import type { Deps } from '../../deps.js';
import { toJson } from '../../shared/exact-json.js';
import type { CannedResults } from '../../tools/contract.js';
import type { Lane } from '../lane/lane.js';

/** Answers tool calls in place of the real tools in a run of an eval; null in every other run. */
export function cannedAnswersOf(lane: Lane): CannedResults | null {
  const { laneCase, run } = lane;
  if (laneCase === null) return null;
  const { tools, live } = laneCase;
  // One at a time in order of the requests, so that calls of one turn get their results in order.
  let turn: Promise<unknown> = Promise.resolve();
  return {
    live,
    tools: Object.keys(tools),
    answer: async (tool, call) => {
      const answers = Object.hasOwn(tools, tool) ? (tools[tool] ?? []) : [];
      if (answers.length === 0) return null;
      const number = turn.then(() => nextCallNumber(lane.deps, { root: run.rootId, call, tool }));
      turn = number.catch(() => undefined);
      const answer = answers[Math.min(await number, answers.length - 1)] ?? null;
      return { text: typeof answer === 'string' ? answer : toJson(answer), isError: false };
    },
  };
}

/** The number of this call among the case's calls of the tool, from 0. A repeated call keeps its number. */
async function nextCallNumber(
  deps: Pick<Deps, 'db'>,
  { root, call, tool }: { readonly root: string; readonly call: string; readonly tool: string },
): Promise<number> {
  return deps.db.transaction(async (sql) => {
    await sql.query('SELECT 1 FROM eval_attempt WHERE run_id = $1 FOR UPDATE', [root]);
    const [row] = await sql.query<{ seq: number }>(
      `INSERT INTO eval_canned (run_id, call, tool, seq)
        SELECT $1, $2, $3, (SELECT count(*) FROM eval_canned WHERE run_id = $1 AND tool = $3)
        ON CONFLICT (run_id, call) DO UPDATE SET tool = eval_canned.tool RETURNING seq`,
      [root, call, tool],
    );
    return row?.seq ?? 0;
  });
}
