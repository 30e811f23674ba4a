import type { Stop } from '../../workflows/contract.js';
import { postponeAside } from '../lane/postpone.js';
import { type Deaths, whenSafe } from './deaths.js';
import type { Session } from './session.js';

const FIRST_POLL_MS = 1_000;
const LONGEST_POLL_MS = 15_000;
const REASON =
  'waits for its turn: its worker ended or was blocked several times during this call, and such calls are made one at a time';

/**
 * Makes a call of the step, a suspect one in its turn. The stop is the wait for that turn: a durable timer that does
 * not count against the step's time.
 */
export function callInTurn(session: Session, deaths: Deaths, work: () => Promise<Stop | null>): Promise<Stop | null> {
  const { lane } = session;
  const { writer, run } = lane;
  const now = lane.deps.clock.now();
  const since = writer.memory.inLineSince ?? now;
  // The longer the call has waited, the less often it asks.
  const againInMs = Math.min(LONGEST_POLL_MS, Math.max(FIRST_POLL_MS, (now - since) / 4));
  const wait = () => waitForTurn(session, { since, at: now + againInMs });
  return whenSafe({ deaths, key: `${run.id}/${lane.name}`, againInMs, wait }, () => {
    const { inLineSince: _over, ...memory } = writer.memory;
    writer.memory = memory;
    return work();
  });
}

async function waitForTurn(
  { lane, state }: Session,
  { since, at }: { readonly since: number; readonly at: number },
): Promise<Stop> {
  const { writer } = lane;
  if (lane.leaving()) {
    await writer.flush();
    return { kind: 'again' };
  }
  const { id: step, item, round } = state;
  if (writer.memory.inLineSince === undefined) writer.event('turn.waiting', { step, item, round, reason: REASON });
  writer.memory = { ...writer.memory, inLineSince: since };
  return postponeAside(lane, at, { kind: 'turn', step, item, since, reason: REASON });
}
