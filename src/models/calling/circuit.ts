import type { Clock } from '../../shared/clock.js';
import { type EndpointHealth, ModelError } from '../contract.js';

const FAILURES = 5;
const WINDOW_MS = 60_000;
/** When a call may try again while another one probes the endpoint. */
const PROBE_MS = 5_000;
const LONGEST_ERROR = 200;

interface State {
  /** Times of the latest failures in a row. */
  failures: number[];
  /** Time of the first of these failures. */
  since: number;
  lastError: string;
  openUntil: number | null;
  probing: boolean;
}

export interface Circuits {
  /**
   * Makes the call unless the endpoint is known to be down: five failures in a row within a minute open its circuit for
   * `openMs`, after which one call probes. Throws ModelError `overloaded` when open, else what the call throws.
   */
  guard<T>(endpoint: string, call: () => Promise<T>): Promise<T>;
  failing(): readonly EndpointHealth[];
}

/** Only failures that show the endpoint to be down count; a refusal is an answer, and a stop proves nothing. */
export function createCircuits(clock: Clock, openMs: number): Circuits {
  const states = new Map<string, State>();
  return {
    async guard(endpoint, call) {
      const state = states.get(endpoint) ?? { ...WELL, failures: [], probing: false };
      states.set(endpoint, state);
      const probe = enter(state, endpoint, clock.now());
      try {
        const reply = await call();
        Object.assign(state, WELL);
        return reply;
      } catch (error) {
        judge(state, error, clock.now(), openMs);
        throw error;
      } finally {
        if (probe) state.probing = false;
      }
    },
    failing: () =>
      [...states].flatMap(([endpoint, { failures, since, lastError, openUntil: until }]) =>
        failures.length === 0 ? [] : [{ endpoint, open: until !== null, since, until, lastError }],
      ),
  };
}

const WELL = { failures: [], since: 0, lastError: '', openUntil: null };

/** True when this call is the probe. */
function enter(state: State, endpoint: string, now: number): boolean {
  if (state.openUntil === null) return false;
  if (now >= state.openUntil && !state.probing) {
    state.probing = true;
    return true;
  }
  const wait = Math.max(PROBE_MS, state.openUntil - now);
  const count = `${endpoint} failed ${FAILURES} times in a row, the last time it ${state.lastError}`;
  throw new ModelError('overloaded', `${count}; next try in ${Math.ceil(wait / 1_000)} s`, {
    retryAfterMs: wait,
    circuit: true,
  });
}

function judge(state: State, error: unknown, now: number, openMs: number): void {
  if (!(error instanceof ModelError) || error.kind === 'aborted') return;
  if (error.kind !== 'transient' && error.kind !== 'overloaded') {
    Object.assign(state, WELL);
    return;
  }
  if (state.failures.length === 0) state.since = now;
  state.failures = [...state.failures, now].slice(-FAILURES);
  state.lastError = error.brief.slice(0, LONGEST_ERROR);
  const [first] = state.failures;
  const isDown = state.failures.length === FAILURES && first !== undefined && now - first <= WINDOW_MS;
  if (isDown || state.openUntil !== null) state.openUntil = now + openMs;
}
