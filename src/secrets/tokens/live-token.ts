import { notFound } from '../../shared/refusal.js';
import { watchToken } from './await-change.js';
import { renewToken, type TokenDeps } from './renew-token.js';
import { TokenRefusal } from './token-refusal.js';
import { acquireLease, isFresh, isUsable, readTokenState, type TokenState } from './token-rows.js';

export interface LiveToken {
  readonly token: string;
  readonly expiresAt: Date;
}

/** A person must reconnect: the stored failure is returned without another request to the provider. */
const MARKED = { kind: 'gone', message: 'its provider refused it at the last request' } as const;

/**
 * The live access token of an `oauth2` or `service_account` secret: from its row while it is fresh, else by a single
 * exchange, however many steps and processes ask at once. Throws a `TokenRefusal`.
 */
export async function liveToken(
  deps: TokenDeps,
  { id, name }: { readonly id: string; readonly name: string },
): Promise<LiveToken> {
  const changes = watchToken(deps.db, id);
  let waitedFor = 0;
  try {
    for (;;) {
      const state = await readTokenState(deps.db, deps.keys, id);
      if (state === null) throw notFound('secret');
      const known = tokenFrom(name, state, { waitedFor, nowMs: deps.clock.now() });
      if (known) return known;
      waitedFor = await exchangeOrWait(deps, id, { state, changes });
    }
  } finally {
    changes.close();
  }
}

/** The number of the exchange that has just ended, whose result this caller shares; 0 for none. */
async function exchangeOrWait(
  deps: TokenDeps,
  id: string,
  { state, changes }: { state: TokenState; changes: ReturnType<typeof watchToken> },
): Promise<number> {
  if (state.leased) {
    await changes.next();
    return state.attempt;
  }
  const lease = await acquireLease(deps.db, id, state);
  if (lease === null) return 0;
  const end = await renewToken(deps, lease, state);
  return end === 'stale' ? 0 : lease.attempt;
}

/** The token, if the state has one; null when an exchange is due or running. Throws the failure of an ended one. */
function tokenFrom(
  name: string,
  { cached, status, leased, attempt, failure }: TokenState,
  { waitedFor, nowMs }: { waitedFor: number; nowMs: number },
): LiveToken | null {
  if (cached && isFresh(cached, nowMs)) return liveOf(cached);
  const ended = waitedFor > 0 && waitedFor === attempt && !leased ? failure : null;
  const why = ended ?? (status === 'reconnect' ? MARKED : null);
  if (why === null) return null;
  // The old one is used until it expires.
  if (cached && isUsable(cached, nowMs)) return liveOf(cached);
  throw new TokenRefusal(name, why);
}

function liveOf({ token, expiresAt }: LiveToken): LiveToken {
  return { token, expiresAt };
}
