import { isIP } from 'node:net';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context } from 'hono';
import type { AppEnv } from '../env.js';

/**
 * The client's address. Behind a trusted proxy it is the right-most hop of the header, which that proxy wrote; the
 * client controls everything to the left. Null for a hop that is not an address.
 */
export function clientAddress(c: Context<AppEnv>): string | null {
  const peer = c.env?.incoming ? (getConnInfo(c).remote.address ?? null) : null;
  if (!c.var.deps.config.trustProxy) return peer;
  return addressOf(c.req.header('x-forwarded-for')?.split(',').at(-1)?.trim()) ?? peer;
}

/** Some proxies include the port: `192.0.2.1:50123`, `[2001:db8::1]:50123`. */
function addressOf(hop: string | undefined): string | null {
  const plain = hop?.replace(/^\[([^\]]*)\](:\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
  return plain !== undefined && isIP(plain) !== 0 ? plain : null;
}
