import type { Clock } from '../../shared/clock.js';
import { ModelError } from '../contract.js';

const FAILURES = 5;
const WINDOW_MS = 60_000;
const OPEN_MS = 30_000;

interface State {
  /** Times of the latest failures in a row. */
  failures: number[];
  openUntil: number | null;
  probing: boolean;
}

export interface Circuits {
  /**
   * Makes the call unless the provider is known to be down: five failures in a row within a minute open its circuit
   * for 30 s, after which one call probes. Throws ModelError `overloaded` when open, else what the call throws.
   */
  guard<T>(provider: string, call: () => Promise<T>): Promise<T>;
  open(): { readonly provider: string; readonly until: number }[];
}

/** Only failures that say the provider is down count; a refusal is an answer, and a stop says nothing. */
export function createCircuits(clock: Clock): Circuits {
  const states = new Map<string, State>();
  return {
    async guard(provider, call) {
      const state = states.get(provider) ?? { failures: [], openUntil: null, probing: false };
      states.set(provider, state);
      const probe = enter(state, provider, clock.now());
      try {
        const reply = await call();
        close(state);
        return reply;
      } catch (error) {
        judge(state, error, clock.now());
        throw error;
      } finally {
        if (probe) state.probing = false;
      }
    },
    open: () =>
      [...states].flatMap(([provider, { openUntil }]) => (openUntil === null ? [] : [{ provider, until: openUntil }])),
  };
}

/** True when this call is the probe. */
function enter(state: State, provider: string, now: number): boolean {
  if (state.openUntil === null) return false;
  if (now >= state.openUntil && !state.probing) {
    state.probing = true;
    return true;
  }
  const wait = Math.max(1_000, state.openUntil - now);
  const seconds = Math.ceil(wait / 1_000);
  throw new ModelError('overloaded', `${provider} failed ${FAILURES} times in a row; next try in ${seconds} s`, wait);
}

function close(state: State): void {
  state.failures = [];
  state.openUntil = null;
}

function judge(state: State, error: unknown, now: number): void {
  if (!(error instanceof ModelError) || error.kind === 'aborted') return;
  if (error.kind !== 'transient' && error.kind !== 'overloaded') {
    close(state);
    return;
  }
  state.failures = [...state.failures, now].slice(-FAILURES);
  const [first] = state.failures;
  const isDown = state.failures.length === FAILURES && first !== undefined && now - first <= WINDOW_MS;
  if (isDown || state.openUntil !== null) state.openUntil = now + OPEN_MS;
}
