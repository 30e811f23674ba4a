import type { Actor } from '../shared/roles.js';
import type { Repository } from './repository.js';
import { runGit } from './run-git.js';
import { cleanMessage, identity } from './write-commit.js';

/** A commit over the one before it: what it changes, and no more. */
export interface AppendedCommit {
  readonly by: Actor;
  readonly at: Date;
  readonly message: string;
  /** A canonical path to its bytes; null takes the file away. */
  readonly files: ReadonlyMap<string, Uint8Array | null>;
}

/**
 * Appends commits to a ref, in one git process however many they are. The same commits over the same tip always have
 * the same ids. A ref that another process has moved on meanwhile is left where it is.
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
  // 1 is "not updated": the objects are there, and the ref is not where these commits begin.
  await runGit(repository, ['fast-import', '--done', '--quiet', '--date-format=raw'], { input, accept: [0, 1] });
}
