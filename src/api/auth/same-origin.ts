import type { Context } from 'hono';
import { verifyRequestOrigin } from '../../accounts/index.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import type { AppEnv } from '../env.js';

const READS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/**
 * A credential that the browser sends by itself may write only from our own pages: the request must say so, by `Origin`
 * or by `Sec-Fetch-Site`. In development there is no cookie to steal, so there silence (a terminal's) is fine too.
 */
export function refuseCrossSite(c: Context<AppEnv>, caller: Caller): void {
  if (!caller.signedIn || READS.includes(c.req.method)) return;
  const origin = c.req.header('origin');
  const site = c.req.header('sec-fetch-site');
  if (origin !== undefined) {
    if (isOurs(c, origin)) return;
  } else if (site === 'same-origin') return;
  else if (site === undefined && c.var.deps.config.devNoAuth) return;
  throw new Refusal('forbidden', 'a signed-in page may write from the same origin only; programs use an API key', {
    code: 'cross-site',
  });
}

function isOurs(c: Context<AppEnv>, origin: string): boolean {
  const { publicUrl } = c.var.deps.config;
  const host = c.req.header('host') ?? new URL(c.req.url).host;
  return verifyRequestOrigin(origin, publicUrl === null ? [host] : [host, publicUrl]);
}
