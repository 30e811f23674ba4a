import type { Actor } from '../shared/roles.js';
import { incomparable, mergeBases, runCompare } from './compare.js';
import { type KeptPack, makePack, openQuarantine, type Quarantine } from './packs.js';
import { isHugeTree } from './read-tree.js';
import type { Repository } from './repository.js';
import { runGit } from './run-git.js';
import { cleanMessage, identity } from './write-commit.js';

export interface MergeInput {
  /** The commit that is merged into, and the first parent. */
  readonly into: string;
  readonly commit: string;
  readonly by: Actor;
  readonly message: string;
  readonly at: Date;
}

export type Merge =
  | {
      readonly kind: 'merged';
      readonly commit: string;
      readonly tree: string;
      readonly pack: KeptPack;
      readonly quarantine: Quarantine;
    }
  | { readonly kind: 'conflict'; readonly paths: readonly string[] };

const MAX_CONFLICT_BYTES = 1024 * 1024;

/**
 * Merges two commits. Returns a merge commit whose objects are one pack in a quarantine, which the caller removes, or
 * the conflicting paths. Unrelated histories are merged over an empty base. Throws a Refusal `refused` when the merge
 * bases are too many or too large, or git exceeds its limits.
 */
export async function mergeCommits(repository: Repository, input: MergeInput): Promise<Merge> {
  await checkBases(repository, await mergeBases(repository, input.into, input.commit));
  const quarantine = await openQuarantine(repository);
  try {
    const tree = await mergeTrees(repository, quarantine, input);
    if (typeof tree !== 'string') {
      await quarantine.remove();
      return { kind: 'conflict', paths: tree };
    }
    const commit = await commitTree(repository, quarantine, { ...input, tree });
    const wants = { wants: [commit], haves: [input.into, input.commit] };
    const pack = await makePack(repository, quarantine, wants);
    return { kind: 'merged', commit, tree, pack, quarantine };
  } catch (error) {
    await quarantine.remove();
    throw error;
  }
}

/** The maximum number of merge bases. Branches that merge each other repeatedly have many. */
const MAX_BASES = 16;

/**
 * Refuses trees that are too large to merge. With several merge bases git first merges those over their own bases,
 * which are not listed here; the limits of the git process cover them.
 */
async function checkBases(repository: Repository, bases: readonly string[]): Promise<void> {
  if (bases.length > MAX_BASES)
    throw incomparable(`they have merged each other so often that both come from ${bases.length} commits`);
  for (const base of bases)
    if (await isHugeTree(repository, base))
      throw incomparable(
        `the commit ${base.slice(0, 12)}, which both come from, has more files than can be compared`,
        'repo/base-too-large',
      );
}

/** The id of the merged tree, or the paths in conflict. */
async function mergeTrees(
  repository: Repository,
  { env }: Quarantine,
  { into, commit }: MergeInput,
): Promise<string | readonly string[]> {
  const { stdout, code, cut } = await runCompare(
    repository,
    ['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', '--allow-unrelated-histories', into, commit],
    { env, accept: [0, 1], maxBytes: MAX_CONFLICT_BYTES },
  );
  if (cut) throw incomparable('their changes are in conflict in more files than can be listed');
  const [tree = '', ...paths] = stdout.toString('utf8').split('\0').filter(Boolean);
  return code === 0 ? tree.trim() : [...new Set(paths)];
}

async function commitTree(
  repository: Repository,
  { env }: Quarantine,
  { tree, into, commit, by, message, at }: MergeInput & { readonly tree: string },
): Promise<string> {
  const { name, email } = identity(by);
  const date = `${Math.floor(at.getTime() / 1_000)} +0000`;
  const who = {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_AUTHOR_DATE: date,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
    GIT_COMMITTER_DATE: date,
  };
  const { stdout } = await runGit(repository, ['commit-tree', '-p', into, '-p', commit, '-F', '-', tree], {
    env: { ...env, ...who },
    config: ['commit.gpgSign=false'],
    input: `${cleanMessage(message)}\n`,
  });
  return stdout.toString().trim();
}
