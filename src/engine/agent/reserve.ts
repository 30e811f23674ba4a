import type { ResolvedModel } from '../../models/contract.js';
import { toUsd } from '../../shared/money.js';
import { StepFailure } from '../errors.js';
import { type Cap, capsOf } from './caps.js';
import { guessContext } from './compaction/size.js';
import type { Pool } from './pools.js';
import type { Session } from './session.js';

const DEFAULT_OUTPUT_TOKENS = 8_192;
const LEAST_OUTPUT_TOKENS = 64;

/** What a call reserves before it starts, so that parallel calls never exceed a budget and a lost call is not free. */
export interface Reserve {
  readonly nano: bigint;
  /** Null leaves the limit to the provider. */
  readonly maxOutputTokens: number | null;
  /** The budgets that apply, as they were read. */
  readonly caps: readonly Cap[];
}

/** The next call exceeds what is left of a budget. */
export class UsedUp extends StepFailure {
  constructor(readonly cap: Cap) {
    super(`the budget of ${cap.of}, $${toUsd(cap.budget)}, is used up`);
  }
}

type Price = Pick<NonNullable<ResolvedModel['price']>, 'input' | 'output'>;

/** Null while other lanes have reserved what this call needs: they may release a part. Throws UsedUp. */
export async function reserveFor(session: Session, pools: readonly Pool[]): Promise<Reserve | null> {
  const asked = session.agent.config.maxOutputTokens;
  const wanted = typeof asked === 'number' ? asked : null;
  const caps = await capsOf(session, pools);
  const [least] = [...caps].sort((a, b) => (a.left < b.left ? -1 : 1));
  const price = highestPriceOf(session.models);
  if (!least) {
    // Without a budget nothing is clamped. The maximum cost is still needed, to book the call if it is lost.
    return { nano: needOf(session, price, wanted ?? DEFAULT_OUTPUT_TOKENS), maxOutputTokens: wanted, caps };
  }
  refuseUnpriced(session, least);
  const input = Math.ceil(guessContext(session) * price.input);
  const left = Number(least.left) - input;
  const most = wanted ?? DEFAULT_OUTPUT_TOKENS;
  const room = price.output > 0 ? Math.floor(left / price.output) : most;
  if (left < 0 || room < Math.min(most, LEAST_OUTPUT_TOKENS)) {
    const needed = Math.min(most, LEAST_OUTPUT_TOKENS) * price.output;
    if (least.held > 0n && left + Number(least.held) >= needed) return null;
    throw new UsedUp(least);
  }
  const maxOutputTokens = Math.min(most, room);
  return { nano: needOf(session, price, maxOutputTokens), maxOutputTokens, caps };
}

function needOf(session: Session, price: Price, outputTokens: number): bigint {
  return BigInt(Math.ceil(Math.ceil(guessContext(session) * price.input) + outputTokens * price.output));
}

function refuseUnpriced({ models }: Session, { of }: Cap): void {
  const unknown = models.find(({ price }) => price === null);
  if (!unknown) return;
  throw new StepFailure(
    `model ${unknown.name} has no known price, and ${of} has a budget: set SERVICE_LLM_PRICE_IN and ` +
      'SERVICE_LLM_PRICE_OUT (priceIn and priceOut in SERVICE_MODELS_FILE; 0 will do), or take the budget away',
  );
}

/** The maximum cost of a token with any of the models; models without a known price count as free. */
function highestPriceOf(models: readonly ResolvedModel[]): Price {
  const most = { input: 0, output: 0 };
  for (const { price } of models) {
    most.input = Math.max(most.input, price?.input ?? 0);
    most.output = Math.max(most.output, price?.output ?? 0);
  }
  return most;
}
