import type { Context } from 'hono';
import { verifyRequestOrigin } from '../../people/index.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import type { AppEnv } from '../env.js';

const READS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/** The origin that the browser states: our own page, a foreign one, hidden, or (old browsers) none. */
type StatedOrigin = 'ours' | 'foreign' | 'hidden' | 'silent';

/**
 * A request with a credential that browsers send automatically may write only from our own pages, as `Origin` or
 * `Sec-Fetch-Site` must show. In development there is no cookie to steal, so a request without these headers (from a
 * terminal) is allowed. A form with a nonce may have a hidden origin, which our pages' no-referrer causes in older
 * browsers: the verb then checks the nonce.
 */
export function refuseCrossSite(c: Context<AppEnv>, caller: Caller, hasNonce = false): void {
  if (!caller.signedIn || READS.includes(c.req.method)) return;
  const stated = statedOrigin(c);
  if (stated === 'ours') return;
  if (stated === 'silent' && caller.session === undefined && c.var.deps.config.devNoAuth) return;
  if (stated === 'hidden' && hasNonce && isForm(c)) return;
  throw crossSite('a signed-in page may write from the same origin only; programs use an API key');
}

/** Signing in sets a cookie, so foreign pages must not do it. Programs send neither header and are allowed. */
export function refuseForeignPage(c: Context<AppEnv>): void {
  if (['foreign', 'hidden'].includes(statedOrigin(c)))
    throw crossSite('signing in and up works from the pages of this service and from programs only');
}

function statedOrigin(c: Context<AppEnv>): StatedOrigin {
  const origin = c.req.header('origin');
  const site = c.req.header('sec-fetch-site');
  if (origin !== undefined && origin !== 'null') return isOurs(c, origin) ? 'ours' : 'foreign';
  if (site !== undefined) return site === 'same-origin' ? 'ours' : 'foreign';
  return origin === undefined ? 'silent' : 'hidden';
}

function isOurs(c: Context<AppEnv>, origin: string): boolean {
  const { publicUrl } = c.var.deps.config;
  const host = c.req.header('host') ?? new URL(c.req.url).host;
  if (!verifyRequestOrigin(origin, publicUrl === null ? [host] : [host, publicUrl])) return false;
  // Only the configured scheme of the public address counts: on plain http an attacker on the network may have written
  // the page.
  const known = publicUrl === null ? null : new URL(publicUrl);
  return known === null || new URL(origin).host !== known.host || origin === known.origin;
}

function isForm(c: Context<AppEnv>): boolean {
  return c.req.header('content-type')?.toLowerCase().startsWith('application/x-www-form-urlencoded') ?? false;
}

function crossSite(message: string): Refusal {
  return new Refusal('forbidden', message, { code: 'cross-site' });
}
