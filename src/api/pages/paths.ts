import type { Context } from 'hono';
import { accepts } from 'hono/accepts';

/** True for a browser: `Accept` prefers HTML to JSON. */
export function prefersPage(c: Context): boolean {
  const supports = ['application/json', 'text/html'];
  return accepts(c, { header: 'Accept', supports, default: 'application/json' }) === 'text/html';
}

/** True for a program at a page's route: `Accept` prefers JSON, or is absent and the body is JSON. */
export function prefersJson(c: Context): boolean {
  const sent = c.req.header('content-type')?.toLowerCase() ?? '';
  const supports = ['text/html', 'application/json'];
  const defaultType = sent.startsWith('application/json') ? 'application/json' : 'text/html';
  return accepts(c, { header: 'Accept', supports, default: defaultType }) === 'application/json';
}

/** The path and the query of the request. */
export function pathOf(c: Context): string {
  const { pathname, search } = new URL(c.req.url);
  return pathname + search;
}

export function signInPath(next: string, error?: string): string {
  const query = new URLSearchParams({ next, ...(error !== undefined && { error }) });
  return `/sign-in?${query}`;
}

/** The path to continue at, limited to this service, whatever the link says. */
export function ownPath(next: string | undefined): string {
  const placeholderOrigin = 'http://placeholder.invalid';
  if (next === undefined || !next.startsWith('/') || !URL.canParse(next, placeholderOrigin)) return '/';
  const url = new URL(next, placeholderOrigin);
  return url.origin === placeholderOrigin ? url.pathname.replace(/^\/+/, '/') + url.search : '/';
}
