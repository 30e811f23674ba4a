import type { Context } from 'hono';
import { answerWithin, authenticateKey, devCaller } from '../../people/index.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import type { AppEnv } from '../env.js';
import { clientAddress } from './client-address.js';
import { bySession } from './session.js';

/** Longer than any key: a longer credential is refused without hashing it. */
const MAX_CREDENTIAL = 512;

/**
 * The ways to authenticate, in order. A way returns null without a credential of its kind, and throws for an invalid
 * one.
 */
const AUTHENTICATORS: readonly ((c: Context<AppEnv>) => Promise<Caller | null>)[] = [
  byBearerKey,
  bySession,
  byDevelopment,
];

/** The caller, or null when the request carries no credential. The header `x-service-tenant` is never read. */
export async function authenticate(c: Context<AppEnv>): Promise<Caller | null> {
  for (const authenticator of AUTHENTICATORS) {
    const caller = await answerWithin(c.var.deps.db, authenticator(c));
    if (caller) return caller;
  }
  return null;
}

export function requireCaller(caller: Caller | null): Caller {
  if (caller) return caller;
  throw new Refusal('unauthenticated', 'no credential: send Authorization: Bearer <API key>');
}

async function byBearerKey(c: Context<AppEnv>): Promise<Caller | null> {
  const header = c.req.header('authorization');
  if (header === undefined) return null;
  const key = /^Bearer +(\S+) *$/i.exec(header)?.[1];
  if (key === undefined || key.length > MAX_CREDENTIAL) {
    throw new Refusal('unauthenticated', 'the Authorization header must be: Bearer <API key>');
  }
  return authenticateKey(c.var.deps, key, clientAddress(c));
}

export async function byDevelopment(c: Context<AppEnv>): Promise<Caller | null> {
  if (!c.var.deps.config.devNoAuth || !isLoopbackHost(c.req.header('host'))) return null;
  return devCaller(c.var.deps, clientAddress(c));
}

/** DNS rebinding: another page can point its own name at 127.0.0.1, but the Host header still has that name. */
function isLoopbackHost(host: string | undefined): boolean {
  return host === undefined || /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i.test(host);
}
