import type { Context } from 'hono';
import type { Precondition } from '../content/index.js';
import { Refusal } from '../shared/refusal.js';

/** `If-Match` and `If-None-Match: *` of a write: RFC 9110, section 13.1. */
export function readPrecondition(c: Context): Precondition {
  const match = c.req.header('if-match');
  const none = c.req.header('if-none-match');
  if (none !== undefined && none.trim() !== '*') {
    throw new Refusal('refused', 'If-None-Match: only * is understood on a write, for "the file must not exist"');
  }
  return { match: match === undefined ? undefined : parseTags(match), absent: none !== undefined };
}

/** True when a read's `If-None-Match` has the file's sha, so the client's copy is current. */
export function isKnown(c: Context, sha: string): boolean {
  const header = c.req.header('if-none-match');
  if (header === undefined) return false;
  const tags = parseTags(header);
  return tags === 'any' || tags.includes(sha);
}

export function etagOf(sha: string): string {
  return `"${sha}"`;
}

function parseTags(header: string): 'any' | readonly string[] {
  if (header.trim() === '*') return 'any';
  return header.split(',').map((tag) => /^(?:W\/)?"(.*)"$/.exec(tag.trim())?.[1] ?? tag.trim());
}
