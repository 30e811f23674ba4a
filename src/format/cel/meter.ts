import type { Json } from '../../shared/json.js';

/** The budget of one evaluation: about one unit for a call, a loop turn, a node of data or 64 characters. */
const BUDGET = 500_000;

export interface Meter {
  left: number;
  readonly bindings: Readonly<Record<string, Json>>;
}

/**
 * The meter of the current evaluation. A module variable is enough, since evaluation is synchronous and functions get
 * no context.
 */
let running: Meter | undefined;

export function withMeter<T>(bindings: Readonly<Record<string, Json>>, work: (meter: Meter) => T): T {
  const outer = running;
  const meter: Meter = { left: BUDGET, bindings };
  running = meter;
  try {
    return work(meter);
  } finally {
    running = outer;
  }
}

export function charge(units: number): void {
  if (!running) throw new Error('CEL functions run inside an evaluation only');
  running.left -= units;
  if (running.left < 0) throw new Error(TOO_COSTLY);
}

export function binding(name: string): Json | undefined {
  return running && Object.hasOwn(running.bindings, name) ? running.bindings[name] : undefined;
}

export const TOO_COSTLY =
  'the expression does too much work: loop over a shorter list, or move the work into a script tool';
