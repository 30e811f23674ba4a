import type { CodeHost, CodeHostKind } from './contract.js';
import { gitea } from './gitea.js';
import { github } from './github.js';
import { gitlab } from './gitlab.js';

export type { CodeEvent, CodeHostKind, CodePush } from './contract.js';
export { PayloadFault } from './contract.js';

export const HOSTS = { github, gitlab, gitea } as const satisfies Record<CodeHostKind, CodeHost>;

/** Gitea also sends GitHub's header, so it comes first. */
const ORDER: readonly (readonly [header: string, kind: CodeHostKind])[] = [
  ['x-gitea-event', 'gitea'],
  ['x-forgejo-event', 'gitea'],
  ['x-gogs-event', 'gitea'],
  ['x-gitlab-event', 'gitlab'],
  ['x-github-event', 'github'],
];

/** The host and the event's name, from the event header; null without a known header. */
export function hostOf(
  header: (name: string) => string | undefined,
): { readonly kind: CodeHostKind; readonly event: string } | null {
  for (const [name, kind] of ORDER) {
    const event = header(name);
    if (event !== undefined) return { kind, event };
  }
  return null;
}
