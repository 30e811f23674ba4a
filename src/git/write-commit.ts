import { writeCommit as writeCommitObject } from 'isomorphic-git';
import { isEmail } from '../shared/email.js';
import type { Actor } from '../shared/roles.js';
import { gitFs } from './git-fs.js';
import type { Repository } from './repository.js';

export interface CommitInput {
  readonly tree: string;
  /** Null for the first commit. */
  readonly parent: string | null;
  readonly by: Actor;
  readonly message: string;
  readonly at: Date;
}

/** Writes a commit object and answers its id. The same input always gives the same id. */
export async function writeCommit(repository: Repository, input: CommitInput): Promise<string> {
  const author = {
    ...identity(input.by),
    timestamp: Math.floor(input.at.getTime() / 1_000),
    timezoneOffset: 0,
  };
  return writeCommitObject({
    fs: gitFs,
    gitdir: repository.gitdir,
    commit: {
      tree: input.tree,
      parent: input.parent === null ? [] : [input.parent],
      author,
      committer: author,
      message: `${cleanMessage(input.message)}\n`,
    },
  });
}

/** What a commit's header can carry: git refuses angle brackets, line ends and NUL in a name. */
export function identity(by: Actor): { name: string; email: string } {
  const name = clean(by.label) || by.kind;
  const email = isEmail(clean(by.label)) ? clean(by.label) : `${by.kind}.${clean(by.id)}@users.invalid`;
  return { name, email: email.replace(/\s+/g, '-') };
}

function clean(text: string): string {
  return text.replace(/[<>\p{Cc}]/gu, ' ').trim();
}

export function cleanMessage(message: string): string {
  return message.replace(/\r\n?/g, '\n').replaceAll('\0', '').trim() || 'No message';
}
