import { writeCommit as writeCommitObject } from 'isomorphic-git';
import { isEmail } from '../shared/email.js';
import type { Actor } from '../shared/roles.js';
import { gitFs } from './git-fs.js';
import type { Repository } from './repository.js';
import { runGit } from './run-git.js';

interface CommitInput {
  readonly tree: string;
  /** Null for the first commit. */
  readonly parent: string | null;
  readonly by: Actor;
  readonly message: string;
  readonly at: Date;
}

/** Writes a commit object and returns its id. The same input always gives the same id. */
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

/** A name and an email that a commit header can hold: git refuses angle brackets, line ends and NUL in a name. */
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

/** A commit, given as its changes to the previous one. */
export interface AppendedCommit {
  readonly by: Actor;
  readonly at: Date;
  readonly message: string;
  /** The new content by canonical path; null deletes the file. */
  readonly files: ReadonlyMap<string, Uint8Array | null>;
}

/**
 * Appends any number of commits to a ref in one git process. The same commits on the same tip always get the same ids.
 * A ref that another process has moved meanwhile stays unchanged.
 */
export async function appendCommits(
  repository: Repository,
  ref: string,
  { tip, commits }: { readonly tip: string | null; readonly commits: readonly AppendedCommit[] },
): Promise<void> {
  const parts: (string | Uint8Array)[] = [];
  commits.forEach((commit, index) => {
    const { name, email } = identity(commit.by);
    const message = Buffer.from(`${cleanMessage(commit.message)}\n`);
    parts.push(`commit ${ref}\n`);
    parts.push(`committer ${name} <${email}> ${Math.floor(commit.at.getTime() / 1_000)} +0000\n`);
    parts.push(`data ${message.byteLength}\n`, message, '\n');
    if (index === 0 && tip !== null) parts.push(`from ${tip}\n`);
    for (const [path, content] of commit.files) {
      if (content === null) parts.push(`D ${path}\n`);
      else parts.push(`M 100644 inline ${path}\ndata ${content.byteLength}\n`, content, '\n');
    }
  });
  const input = Buffer.concat([...parts, 'done\n'].map((part) => Buffer.from(part)));
  // Exit code 1 means "not updated": the objects are written, but the ref no longer points where these commits begin.
  await runGit(repository, ['fast-import', '--done', '--quiet', '--date-format=raw'], { input, accept: [0, 1] });
}
