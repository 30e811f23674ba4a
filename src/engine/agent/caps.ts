import { toNano } from '../../shared/money.js';
import type { Lane } from '../lane/lane.js';
import { leavesOf } from '../lane/lane-plan.js';
import type { Session } from './session.js';

/** A budget that holds a call, and what of it is left, nano-USD. */
export interface Cap {
  /** `the run`, `the step`, `the agent`. */
  readonly of: string;
  readonly budget: bigint;
  readonly left: bigint;
  /** What calls of other lanes hold of it now: some of it comes back. */
  readonly held: bigint;
}

/** Every budget that the next call of this step has to fit into: the flow's, the step's, and the agent's over the run. */
export async function capsOf(session: Session): Promise<readonly Cap[]> {
  const { lane, step, agent } = session;
  const caps: Cap[] = [];
  if (lane.run.budgetNano !== null) {
    const budget = BigInt(lane.run.budgetNano);
    caps.push({ of: 'the run', budget, ...(await readLeft(lane, budget)) });
  }
  if (step.budgetUsd !== undefined) caps.push(await capOver(session, 'the step', step.budgetUsd, [step.id]));
  if (agent.budgetUsd !== undefined) {
    const own = leavesOf(lane.plan).filter((other) => other.agent === agent.name);
    caps.push(
      await capOver(
        session,
        `the agent ${agent.name}`,
        agent.budgetUsd,
        own.map(({ id }) => id),
      ),
    );
  }
  return caps;
}

/** What the run has left now, nano-USD: neither spent nor set aside. */
export async function leftOf(lane: Lane, budget: bigint): Promise<bigint> {
  return (await readLeft(lane, budget)).left;
}

async function readLeft(lane: Lane, budget: bigint): Promise<Pick<Cap, 'left' | 'held'>> {
  await lane.writer.quiet();
  const [row] = await lane.deps.db.query<{ spent: bigint; reserved: bigint }>({
    name: 'run-used',
    text: 'SELECT spent_nano AS spent, reserved_nano AS reserved FROM run WHERE id = $1',
    values: [lane.run.id],
  });
  const { spent, reserved } = row ?? { spent: 0n, reserved: 0n };
  // The settled call of this turn may still stand in the batch that goes out with the next start.
  const held = reserved - lane.writer.batch.release;
  return { left: budget - spent - held - lane.writer.batch.spend, held };
}

/** All rounds and items of these steps count; of the row at work its newest cost, which may not be written yet. */
async function capOver(
  { lane, state }: Session,
  of: string,
  budgetUsd: number,
  steps: readonly string[],
): Promise<Cap> {
  await lane.writer.quiet();
  const [row] = await lane.deps.db.query<{ spent: bigint }>({
    name: 'steps-spent',
    text: `SELECT coalesce(sum(cost_nano), 0)::bigint AS spent FROM step
      WHERE run_id = $1 AND id = ANY($2) AND NOT (id = $3 AND item = $4 AND round = $5)`,
    values: [lane.run.id, steps, state.id, state.item, state.round],
  });
  const budget = toNano(budgetUsd);
  return { of, budget, left: budget - (row?.spent ?? 0n) - state.costNano, held: 0n };
}
