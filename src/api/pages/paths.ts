import type { Context } from 'hono';
import { accepts } from 'hono/accepts';

/** Whether a person in a browser asks: `Accept` prefers HTML to JSON. */
export function prefersPage(c: Context): boolean {
  const supports = ['application/json', 'text/html'];
  return accepts(c, { header: 'Accept', supports, default: 'application/json' }) === 'text/html';
}

/** Whether a program asks, for a route that is a page first: `Accept` prefers JSON, or says nothing and JSON was sent. */
export function prefersJson(c: Context): boolean {
  const sent = c.req.header('content-type')?.toLowerCase() ?? '';
  const supports = ['text/html', 'application/json'];
  const unsaid = sent.startsWith('application/json') ? 'application/json' : 'text/html';
  return accepts(c, { header: 'Accept', supports, default: unsaid }) === 'application/json';
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

/** Where a person goes on to: a path of this service, whatever a link says. */
export function ownPath(next: string | undefined): string {
  const ours = 'http://ours.invalid';
  if (next === undefined || !next.startsWith('/') || !URL.canParse(next, ours)) return '/';
  const url = new URL(next, ours);
  return url.origin === ours ? url.pathname.replace(/^\/+/, '/') + url.search : '/';
}
