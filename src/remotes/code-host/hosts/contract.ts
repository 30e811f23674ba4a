import type { Json } from '../../../shared/json.js';

export const CODE_HOSTS = ['github', 'gitlab', 'gitea'] as const;
export type CodeHostKind = (typeof CODE_HOSTS)[number];

/** A repository at its code host, as the payload describes it. Untrusted until the host confirms it. */
export interface HostedRepository {
  /** The URL for people: scheme, host and path, without a trailing slash. */
  readonly url: string;
  /** The URL of a commit's archive, always at the repository's own host or its API. */
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
  /** The display name. */
  readonly label: string;
  /** Reads the event from its header and its payload. Throws PayloadFault for an invalid push. */
  readonly read: (name: string, payload: Json) => CodeEvent;
  readonly tokenHeader: (token: string) => Readonly<Record<string, string>>;
}

/** A payload with missing or invalid fields. */
export class PayloadFault extends Error {
  override readonly name = 'PayloadFault';
}
