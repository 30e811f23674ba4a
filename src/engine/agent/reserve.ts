import type { ResolvedModel } from '../../models/contract.js';
import { toUsd } from '../../shared/money.js';
import { StepFailure } from '../errors.js';
import type { Lane } from '../lane/lane.js';
import { openingMessages, toolSpecs } from './request.js';
import { type Session, turnsOf } from './session.js';

const DEFAULT_OUTPUT_TOKENS = 8_192;
const LEAST_OUTPUT_TOKENS = 64;
/** A cautious guess: few texts have more tokens than a third of their characters. */
const CHARACTERS_A_TOKEN = 3;

/** What a call sets aside before it is made, so that parallel calls never pass the last cent. */
export interface Reserve {
  readonly nano: bigint;
  /** Null leaves the limit to the provider. */
  readonly maxOutputTokens: number | null;
}

export async function reserveFor(session: Session, model: ResolvedModel): Promise<Reserve> {
  const asked = session.agent.config.maxOutputTokens;
  const wanted = typeof asked === 'number' ? asked : null;
  const { budgetNano } = session.lane.run;
  if (budgetNano === null) return { nano: 0n, maxOutputTokens: wanted };
  if (model.price === null) {
    throw new StepFailure(
      `model ${model.name} has no price, and the run has a budget: give it one, or take the budget away`,
    );
  }
  const left = await leftOf(session.lane, BigInt(budgetNano));
  const input = Math.ceil(inputTokens(session) * model.price.input);
  const room = model.price.output > 0 ? Math.floor((Number(left) - input) / model.price.output) : DEFAULT_OUTPUT_TOKENS;
  const maxOutputTokens = Math.min(wanted ?? DEFAULT_OUTPUT_TOKENS, room);
  if (maxOutputTokens < LEAST_OUTPUT_TOKENS) {
    throw new StepFailure(`the budget of $${toUsd(BigInt(budgetNano))} is used up`);
  }
  return { nano: BigInt(Math.ceil(input + maxOutputTokens * model.price.output)), maxOutputTokens };
}

/** What the run has left now, nano-USD: neither spent nor set aside. */
export async function leftOf(lane: Lane, budget: bigint): Promise<bigint> {
  const [row] = await lane.deps.db.query<{ used: bigint }>({
    name: 'run-used',
    text: 'SELECT spent_nano + reserved_nano AS used FROM run WHERE id = $1',
    values: [lane.run.id],
  });
  // The settled call of this turn may still stand in the batch that goes out with the next start.
  return budget - (row?.used ?? 0n) + lane.writer.batch.release - lane.writer.batch.spend;
}

function inputTokens(session: Session): number {
  const turn = turnsOf(session);
  const text = JSON.stringify(openingMessages(session, turn)).length + JSON.stringify(toolSpecs(session, turn)).length;
  return Math.ceil((text + session.system.length) / CHARACTERS_A_TOKEN);
}

/** Books a call of an earlier attempt that was never finished at what it had set aside. */
export function settleLost(session: Session, model: string, held: bigint): void {
  const { batch } = session.lane.writer;
  batch.release += held;
  batch.spend += held;
  session.state.costNano += held;
  batch.usage.push({
    step: session.step.id,
    meter: 'model',
    model,
    tokens_in: 0,
    tokens_out: 0,
    tokens_cached: 0,
    nano: String(held),
    source: 'reserve',
    estimated: true,
  });
  session.lane.writer.event('model.interrupted', { step: session.step.id, model });
}
