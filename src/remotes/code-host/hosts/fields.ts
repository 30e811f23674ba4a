import { isRecord } from '../../../shared/json.js';
import { type CodePush, PayloadFault } from './contract.js';

/** The value at a path of keys; undefined when it is missing. */
export function at(payload: unknown, ...keys: readonly string[]): unknown {
  return keys.reduce<unknown>(
    (value, key) => (isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    payload,
  );
}

export function textAt(payload: unknown, ...keys: readonly string[]): string | null {
  const value = at(payload, ...keys);
  return typeof value === 'string' && value !== '' ? value : null;
}

export function needText(payload: unknown, ...keys: readonly string[]): string {
  const text = textAt(payload, ...keys);
  if (text === null) throw new PayloadFault(`the payload has no ${keys.join('.')}`);
  return text;
}

const NOTHING = /^0{40,64}$/;

/** The full hash of a commit; null for zeros, which mean that the ref was deleted. */
export function commitAt(payload: unknown, ...keys: readonly string[]): string | null {
  const hash = needText(payload, ...keys);
  if (NOTHING.test(hash)) return null;
  if (/^[0-9a-f]{40}$/.test(hash)) return hash;
  throw new PayloadFault(`${keys.join('.')} is not a full hash of 40 hex digits`);
}

/** The URL of a repository, and the part before its path, since a host may be installed below a folder. */
export function placeOf(address: string, path: string): { readonly url: string; readonly root: string } {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new PayloadFault('the repository’s URL is invalid: it must be http or https without a user');
  if (!/^[\w.-]+(\/[\w.-]+)+$/.test(path) || path.split('/').some((part) => /^\.+$/.test(part)))
    throw new PayloadFault('the repository’s name is invalid');
  const whole = `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\.git$/, '')}`;
  if (!whole.endsWith(`/${path}`)) throw new PayloadFault('the repository’s URL does not end in its name');
  return { url: whole, root: whole.slice(0, -path.length - 1) };
}

/** The names of the commits' authors, the head's first, up to a limit for display. */
export function authorsOf(head: unknown, commits: unknown): readonly string[] {
  const all = [head, ...(Array.isArray(commits) ? commits.slice(0, 2_000).reverse() : [])];
  const names = all.map((commit) => textAt(commit, 'author', 'name') ?? textAt(commit, 'author', 'username'));
  return [...new Set(names.filter((name) => name !== null).map((name) => name.slice(0, 100)))].slice(0, 20);
}

/**
 * A push in the payload format of GitHub, which Gitea uses too. `archiveUrl` makes the URL of a commit's archive from
 * the repository's path and the part before it.
 */
export function hubPush(
  payload: unknown,
  archiveUrl: (place: { readonly root: string; readonly path: string }, commit: string) => string,
): CodePush {
  const path = needText(payload, 'repository', 'full_name');
  const { url, root } = placeOf(needText(payload, 'repository', 'html_url'), path);
  return {
    kind: 'push',
    ref: needText(payload, 'ref'),
    commit: commitAt(payload, 'after'),
    message: textAt(payload, 'head_commit', 'message') ?? '',
    authors: authorsOf(at(payload, 'head_commit'), at(payload, 'commits')),
    repository: { url, archiveUrl: (commit) => archiveUrl({ root, path }, commit) },
  };
}
