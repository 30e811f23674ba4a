import type { ResolvedModel } from '../../models/contract.js';
import { toUsd } from '../../shared/money.js';
import { StepFailure } from '../errors.js';
import { writeStep } from '../lane/lane.js';
import { capsOf } from './caps.js';
import { guessContext } from './compaction/size.js';
import type { Session } from './session.js';

const DEFAULT_OUTPUT_TOKENS = 8_192;
const LEAST_OUTPUT_TOKENS = 64;

/** What a call sets aside before it is made, so that parallel calls never pass the last cent. */
export interface Reserve {
  readonly nano: bigint;
  /** Null leaves the limit to the provider. */
  readonly maxOutputTokens: number | null;
}

/** Null while other lanes hold what this call needs: what they do not use comes back. Throws when it is used up. */
export async function reserveFor(session: Session, model: ResolvedModel): Promise<Reserve | null> {
  const asked = session.agent.config.maxOutputTokens;
  const wanted = typeof asked === 'number' ? asked : null;
  const caps = await capsOf(session);
  const [least] = [...caps].sort((a, b) => (a.left < b.left ? -1 : 1));
  if (!least) return { nano: 0n, maxOutputTokens: wanted };
  if (model.price === null) {
    throw new StepFailure(
      `model ${model.name} has no known price, and ${least.of} has a budget: set SERVICE_LLM_PRICE_IN and ` +
        'SERVICE_LLM_PRICE_OUT (priceIn and priceOut in SERVICE_MODELS_FILE; 0 will do), or take the budget away',
    );
  }
  const input = Math.ceil(guessContext(session) * model.price.input);
  const left = Number(least.left) - input;
  const most = wanted ?? DEFAULT_OUTPUT_TOKENS;
  const room = model.price.output > 0 ? Math.floor(left / model.price.output) : most;
  if (left < 0 || room < Math.min(most, LEAST_OUTPUT_TOKENS)) {
    const needed = Math.min(most, LEAST_OUTPUT_TOKENS) * model.price.output;
    if (least.held > 0n && left + Number(least.held) >= needed) return null;
    throw new StepFailure(`the budget of ${least.of}, $${toUsd(least.budget)}, is used up`);
  }
  const maxOutputTokens = Math.min(most, room);
  return { nano: BigInt(Math.ceil(input + maxOutputTokens * model.price.output)), maxOutputTokens };
}

/** Books a call of an earlier attempt that was never finished at what it had set aside. */
export function settleLost(session: Session, model: string, held: bigint): void {
  const { batch } = session.lane.writer;
  batch.release += held;
  batch.spend += held;
  session.state.costNano += held;
  writeStep(session.lane, session.state);
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
