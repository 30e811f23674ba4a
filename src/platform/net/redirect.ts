import { bodilessHeaders, type HeaderMap, neutralHeaders } from './headers.js';
import { NetError } from './net-error.js';

/** What one hop sends. */
export interface Message {
  readonly method: string;
  readonly headers: HeaderMap;
  readonly body: string | Uint8Array | null;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** The target of a redirect, or null for any other answer. */
export function locationOf(status: number, headers: Headers): string | null {
  return REDIRECTS.has(status) ? headers.get('location') : null;
}

/**
 * The next hop, as in the fetch standard: 303, and a POST under 301 or 302, become a GET. To another origin,
 * credentials are left out, and a request with a body is refused, since the body may contain one.
 */
export function nextHop(from: URL, message: Message, { status, location }: { status: number; location: string }) {
  if (!URL.canParse(location, from.href))
    throw new NetError('redirect', `${from.host} redirects to an invalid URL`, true);
  const url = new URL(location, from);
  const { method } = message;
  const becomesGet = (status === 303 && method !== 'HEAD') || (status < 303 && method === 'POST');
  const same: Message = becomesGet ? { method: 'GET', headers: bodilessHeaders(message.headers), body: null } : message;
  if (url.origin === from.origin) return { url, message: same };
  if (same.body !== null)
    throw new NetError(
      'redirect',
      `${from.host} sends the ${method} on to ${url.host}, and its body may hold a credential: use the final address`,
      true,
    );
  return { url, message: { ...same, headers: neutralHeaders(same.headers) } };
}
