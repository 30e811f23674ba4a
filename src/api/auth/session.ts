import type { Context } from 'hono';
import { getCookie } from 'hono/cookie';
import { authenticateSession, type Browser, SESSION_COOKIE, sessionCookie } from '../../people/index.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import type { AppEnv } from '../env.js';
import { clientAddress } from './client-address.js';

/** Longer than any token: a longer one is refused without hashing it. */
const MAX_TOKEN = 100;

/** The person of the session cookie. In development an expired session counts as no session. */
export async function bySession(c: Context<AppEnv>): Promise<Caller | null> {
  const token = sessionToken(c);
  if (token === null) return null;
  const found = token.length > MAX_TOKEN ? null : await authenticateSession(c.var.deps, token, clientAddress(c));
  if (found?.renewed) c.set('renewedToken', token);
  if (found) return found.caller;
  if (c.var.deps.config.devNoAuth) return null;
  throw new Refusal('unauthenticated', 'this session has ended: sign in again', { code: 'session-ended' });
}

/** Renews the cookie of an extended session after the response, except on cacheable responses. */
export function renewCookie(c: Context<AppEnv>): void {
  const token = c.var.renewedToken;
  const kept = /\bpublic\b|\bmax-age=[1-9]/.test(c.res.headers.get('cache-control') ?? '');
  if (token === undefined || kept || c.res.headers.has('set-cookie')) return;
  c.header('Set-Cookie', sessionCookie(c.var.deps.config, token), { append: true });
}

/** The client of a new session. */
export function browserOf(c: Context<AppEnv>): Browser {
  const token = sessionToken(c);
  return {
    address: clientAddress(c),
    device: c.req.header('user-agent')?.slice(0, 200) ?? null,
    replaces: token !== null && token.length <= MAX_TOKEN ? token : null,
  };
}

function sessionToken(c: Context<AppEnv>): string | null {
  return getCookie(c, SESSION_COOKIE) || null;
}
