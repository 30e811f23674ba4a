import type { Context, MiddlewareHandler } from 'hono';
import { findWorkspace, refuseOverload } from '../people/index.js';
import { notFound, Refusal, type RefusalKind } from '../shared/refusal.js';
import { atLeast, type Caller, isRole, type Role } from '../shared/roles.js';
import { authenticate, requireCaller } from './auth/authenticate.js';
import { isMetricsToken } from './auth/metrics-token.js';
import { refuseCrossSite } from './auth/same-origin.js';
import { renewCookie } from './auth/session.js';
import type { Access, AppEnv, GuardedEnv } from './env.js';
import { pathOf, prefersPage, signInPath } from './pages/paths.js';

interface Guarded {
  readonly access: Access;
  readonly find: ((c: Context<GuardedEnv>) => Promise<unknown>) | null;
  readonly page: boolean;
  readonly needs: Needs | null;
  readonly refused: Refused | null;
}

/** The role that this request needs when it is more than the route's; else null. */
export type Needs = (c: Context<GuardedEnv>) => Promise<Role | null>;

/** Records a known caller who can see the object but whose role is too low. */
export type Refused = (c: Context<GuardedEnv>, refusal: Refusal) => Promise<void>;

/** The request's `find`, so that a later refusal can check first whether the object exists. */
const finders = new WeakMap<Context, NonNullable<Guarded['find']>>();

/**
 * The checks before a handler: credential, then (only before a refusal) the object, then the role. The contract sets
 * the order.
 */
export function createGuard({ access, find, page, needs, refused }: Guarded): MiddlewareHandler<AppEnv> {
  return async function guard(c, next) {
    if (page && prefersPage(c)) c.set('page', true);
    // Health, metrics and static resources are served under any load.
    if (access !== 'metrics' && (access !== 'open' || c.req.method !== 'GET')) refuseOverload(c.var.deps.db);
    if (access === 'open' || access === 'token') {
      if (find) finders.set(c, find);
      return next();
    }
    if (access === 'metrics' && isMetricsToken(c)) return next();
    const caller = await callerOrSignIn(c);
    if (caller instanceof Response) return caller;
    c.set('caller', caller);
    requireValidName(c.req.param('ws'));
    finders.set(c, find ?? findPathWorkspace);
    const refusal = refusalFor(access, caller);
    if (refusal) {
      await requireThing(c);
      await refused?.(c as Context<GuardedEnv>, refusal);
      throw await refusalForRequest(c as Context<GuardedEnv>, refusal, needs);
    }
    refuseCrossSite(c, caller, page);
    await next();
    renewCookie(c);
  };
}

/** The caller. A person who visits a page without a session is redirected to sign in. */
async function callerOrSignIn(c: Context<AppEnv>): Promise<Caller | Response> {
  try {
    return requireCaller(await authenticate(c));
  } catch (error) {
    const isVisit = c.var.page && c.req.method === 'GET';
    if (!isVisit || !(error instanceof Refusal) || error.kind !== 'unauthenticated') throw error;
    return c.redirect(signInPath(pathOf(c)), 303);
  }
}

/** Throws the refusal, unless the object is missing for this caller, which takes precedence. */
export async function refuse(c: Context, refusal: Refusal): Promise<never> {
  await requireThing(c);
  throw refusal;
}

/** Throws the verb's error if the object is missing for this caller. */
export async function requireThing(c: Context): Promise<void> {
  await finders.get(c)?.(c as Context<GuardedEnv>);
}

/** Reports a missing object first, since some handlers validate the input before they find the object. */
export function missingFirst<T>(work: (c: Context<AppEnv>) => Promise<T>): (c: Context<AppEnv>) => Promise<T> {
  return async (c) => {
    try {
      return await work(c);
    } catch (error) {
      if (error instanceof Refusal && INPUT_FAULTS.includes(error.kind)) return refuse(c, error);
      throw error;
    }
  };
}

const INPUT_FAULTS: readonly RefusalKind[] = ['malformed', 'refused', 'timed_out', 'too_large', 'unsupported_type'];

/** Rejects names that no workspace can have; Postgres cannot take some of them as a parameter (NUL, for example). */
function requireValidName(name: string | undefined): void {
  if (name !== undefined && !/^[\w.-]{1,255}$/.test(name)) throw notFound('workspace');
}

function refusalFor(access: Exclude<Access, 'open' | 'token'>, caller: Caller): Refusal | null {
  const signedIn = new Refusal('forbidden', 'needs a signed-in person: a key names an account, never a person', {
    need: 'person',
  });
  if (access === 'metrics') return caller.signedIn ? null : signedIn;
  if (!atLeast(caller.role, access.role)) {
    return needsRole(access.role);
  }
  return access.person && !caller.signedIn ? signedIn : null;
}

/** The refusal for a too low role, with the role that this request needs, so that the caller need not ask twice. */
async function refusalForRequest(c: Context<GuardedEnv>, refusal: Refusal, needs: Needs | null): Promise<Refusal> {
  const { need } = refusal.details;
  if (needs === null || typeof need !== 'string' || !isRole(need)) return refusal;
  const more = await needs(c);
  return more !== null && atLeast(more, need) ? needsRole(more) : refusal;
}

function needsRole(role: Role): Refusal {
  return new Refusal('forbidden', `needs role ${role}`, { need: role });
}

async function findPathWorkspace(c: Context<GuardedEnv>): Promise<void> {
  const name = c.req.param('ws');
  if (name !== undefined) await findWorkspace(c.var.deps.db, c.var.caller, name);
}
