import type { Json } from '../../shared/json.js';

export const CODE_HOSTS = ['github', 'gitlab', 'gitea'] as const;
export type CodeHostKind = (typeof CODE_HOSTS)[number];

/** Where a code host has a repository, by what its payload says. Nothing of it is believed until it is asked. */
export interface HostedRepository {
  /** The address that people see: scheme, host and path, without a slash at the end. */
  readonly url: string;
  /** Where the archive of this commit is; always of the repository's own host, or of the API that belongs to it. */
  readonly archiveUrl: (commit: string) => string;
}

export interface CodePush {
  readonly kind: 'push';
  /** The whole ref: `refs/heads/main`. */
  readonly ref: string;
  /** A full hash of 40 hex digits; null when the ref was deleted. */
  readonly commit: string | null;
  readonly message: string;
  /** Who wrote the commits, the head's author first. */
  readonly authors: readonly string[];
  readonly repository: HostedRepository;
}

export type CodeEvent = CodePush | { readonly kind: 'ping' } | { readonly kind: 'other'; readonly name: string };

export interface CodeHost {
  /** What people call it. */
  readonly label: string;
  /** The event, from its header and its payload. Throws PayloadFault for a push that is none. */
  readonly read: (name: string, payload: Json) => CodeEvent;
  readonly tokenHeader: (token: string) => Readonly<Record<string, string>>;
}

/** A payload that lacks what its kind has. */
export class PayloadFault extends Error {
  override readonly name = 'PayloadFault';
}
