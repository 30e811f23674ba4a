import type { CachedToken } from './token-rows.js';

/** For a provider that does not send the token's lifetime. */
const UNSAID_SECONDS = 600;
const MAX_MARGIN_MS = 300_000;
/** With less left, a token may end on its way. */
const LAST_MS = 5_000;

/** Counted from before the request, so that the token never ends sooner than is thought. */
export function timesOf(
  expiresInSeconds: number | null,
  askedAtMs: number,
): Pick<CachedToken, 'expiresAt' | 'renewAt'> {
  const lifeMs = (expiresInSeconds ?? UNSAID_SECONDS) * 1_000;
  // The margin is a fifth for tokens of minutes, and five minutes for those of hours: a program may be at work with it.
  const renewMs = lifeMs - Math.min(MAX_MARGIN_MS, lifeMs / 5);
  return { expiresAt: new Date(askedAtMs + lifeMs), renewAt: new Date(askedAtMs + renewMs) };
}

export function isFresh({ renewAt }: CachedToken, nowMs: number): boolean {
  return renewAt.getTime() > nowMs;
}

/** Whether the old token is still usable when there is no newer one. */
export function stillHolds({ expiresAt }: CachedToken, nowMs: number): boolean {
  return expiresAt.getTime() > nowMs + LAST_MS;
}
