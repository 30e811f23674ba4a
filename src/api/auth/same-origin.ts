import type { Context } from 'hono';
import { verifyRequestOrigin } from '../../accounts/index.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import type { AppEnv } from '../env.js';

const READS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/** Where the browser says that the request was made: on a page of ours, on another, or (by an old one) nothing sure. */
type Word = 'ours' | 'foreign' | 'hidden' | 'silent';

/**
 * A credential that the browser sends by itself may write only from our own pages, whatever the body's type: the request
 * must say so, by `Origin` or by `Sec-Fetch-Site`. In development there is no cookie to steal, so there silence (a
 * terminal's) is fine too. A form that carries a nonce may come with its origin hidden, as our pages' no-referrer does
 * to browsers that say no more: then the verb checks the nonce.
 */
export function refuseCrossSite(c: Context<AppEnv>, caller: Caller, hasNonce = false): void {
  if (!caller.signedIn || READS.includes(c.req.method)) return;
  const word = wordOf(c);
  if (word === 'ours') return;
  if (word === 'silent' && caller.session === undefined && c.var.deps.config.devNoAuth) return;
  if (word === 'hidden' && hasNonce && isForm(c)) return;
  throw crossSite('a signed-in page may write from the same origin only; programs use an API key');
}

/** Signing in writes a cookie, so another's page must not do it for a person. Programs say nothing, and may. */
export function refuseForeignPage(c: Context<AppEnv>): void {
  if (['foreign', 'hidden'].includes(wordOf(c)))
    throw crossSite('signing in and up works from the pages of this service and from programs only');
}

function wordOf(c: Context<AppEnv>): Word {
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
  // Of the public address only its own scheme: what plain http shows there, anybody on the way may have written.
  const known = publicUrl === null ? null : new URL(publicUrl);
  return known === null || new URL(origin).host !== known.host || origin === known.origin;
}

function isForm(c: Context<AppEnv>): boolean {
  return c.req.header('content-type')?.toLowerCase().startsWith('application/x-www-form-urlencoded') ?? false;
}

function crossSite(message: string): Refusal {
  return new Refusal('forbidden', message, { code: 'cross-site' });
}
