import { NetError } from './net-error.js';

/** Throws unless the URL is at or below the base, on the same origin. `what` begins the sentence. */
export function requireWithin(url: URL, base: string, what: string): void {
  const root = new URL(base);
  const folder = root.pathname.endsWith('/') ? root.pathname : `${root.pathname}/`;
  const isIn = url.pathname === root.pathname || url.pathname.startsWith(folder);
  if (url.origin === root.origin && isIn && !hasParentSegment(url.pathname)) return;
  const where = url.origin === root.origin ? 'another path' : url.host;
  throw new NetError('redirect', `${what} leads from ${root.host} to ${where}: it is not followed`, true);
}

/** True if a part of the path is `..` after any number of percent-decodings, which the other side may apply. */
export function hasParentSegment(path: string): boolean {
  let text = path;
  for (let round = 0; round < 8; round += 1) {
    if (text.split(/[/\\]/).some((part) => part.replace(/;.*$/, '').trim() === '..')) return true;
    const next = text.replace(/%([0-9a-f]{2})/gi, (_whole, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    if (next === text) return false;
    text = next;
  }
  return true;
}
