import type { Context, MiddlewareHandler } from 'hono';
import { refuseOverload } from '../accounts/index.js';
import { notFound, Refusal, type RefusalKind } from '../shared/refusal.js';
import { atLeast, type Caller, isRole, type Role } from '../shared/roles.js';
import { findWorkspace } from '../workspaces/index.js';
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

/** The role that this very request needs, where that is more than the route's; null for the route's. */
export type Needs = (c: Context<GuardedEnv>) => Promise<Role | null>;

/** Takes note of a caller who is known, and sees the thing, but whose role is too low. */
export type Refused = (c: Context<GuardedEnv>, refusal: Refusal) => Promise<void>;

/** Kept with the request, so that whoever refuses it later first asks whether the thing is there at all. */
const finders = new WeakMap<Context, NonNullable<Guarded['find']>>();

/** The funnel: credential, then (only when it is about to refuse) the object, then role. The order is the contract's. */
export function createGuard({ access, find, page, needs, refused }: Guarded): MiddlewareHandler<AppEnv> {
  return async function guard(c, next) {
    if (page && prefersPage(c)) c.set('page', true);
    // Health, metrics and what is the same for everybody are answered under any load.
    if (access !== 'metrics' && (access !== 'open' || c.req.method !== 'GET')) refuseOverload(c.var.deps.db);
    if (access === 'open' || access === 'token') {
      if (find) finders.set(c, find);
      return next();
    }
    if (access === 'metrics' && isMetricsToken(c)) return next();
    const caller = await callerOrSignIn(c);
    if (caller instanceof Response) return caller;
    c.set('caller', caller);
    refuseStrangeName(c.req.param('ws'));
    finders.set(c, find ?? findPathWorkspace);
    const refusal = refusalFor(access, caller);
    if (refusal) {
      await requireThing(c);
      await refused?.(c as Context<GuardedEnv>, refusal);
      throw await ofAct(c as Context<GuardedEnv>, refusal, needs);
    }
    refuseCrossSite(c, caller, page);
    await next();
    renewCookie(c);
  };
}

/** The caller; a person at a page of ours who is not signed in is sent to where they can. */
async function callerOrSignIn(c: Context<AppEnv>): Promise<Caller | Response> {
  try {
    return requireCaller(await authenticate(c));
  } catch (error) {
    const isVisit = c.var.page && c.req.method === 'GET';
    if (!isVisit || !(error instanceof Refusal) || error.kind !== 'unauthenticated') throw error;
    return c.redirect(signInPath(pathOf(c)), 303);
  }
}

/** Throws the refusal, unless the thing it is about is not there for this caller: then that comes first. */
export async function refuse(c: Context, refusal: Refusal): Promise<never> {
  await requireThing(c);
  throw refusal;
}

/** Throws what the verb would throw when the thing is not there for this caller. */
export async function requireThing(c: Context): Promise<void> {
  await finders.get(c)?.(c as Context<GuardedEnv>);
}

/** Work may find fault with its input before its verb has looked for the thing: put in order here. */
export function inOrder<T>(work: (c: Context<AppEnv>) => Promise<T>): (c: Context<AppEnv>) => Promise<T> {
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

/** No workspace has such a name, and the database cannot even be asked for some: NUL among them. */
function refuseStrangeName(name: string | undefined): void {
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

/** The refusal for a role, naming the one that this very act needs: who gets the route's role and asks again is refused no more. */
async function ofAct(c: Context<GuardedEnv>, refusal: Refusal, needs: Needs | null): Promise<Refusal> {
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
