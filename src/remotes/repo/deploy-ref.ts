import { deployTree, requireDeployed } from '../../content/index.js';
import type { DeployResultBody } from '../../contract/deploys.js';
import type { Deps } from '../../deps.js';
import { isAncestor, knownObjects, MAIN, type Repository, readRef, readTags } from '../../git/index.js';
import { findWorkspace, type RecordAnswer } from '../../people/index.js';
import type { Db } from '../../platform/db/contract.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { PENDING } from '../pending/pending-rows.js';
import type { PushedTree } from '../receive/pushed-tree.js';
import { branchRef, readStoredRef, TAGS } from './branch-refs.js';
import { deployPending } from './pending.js';
import { openAligned } from './read-repo.js';
import { treeOfCommit } from './tree-of-commit.js';

const FINDERS: readonly Find[] = [
  async (db, _repository, { workspaceId, ref }) => {
    const commit = ref === PENDING ? await readStoredRef(db, workspaceId, PENDING) : null;
    return commit === null ? null : { commit, kind: 'pending', label: 'the push that waited' };
  },
  async (db, repository, { workspaceId, ref }) => {
    const name = ref.replace(/^refs\/heads\//, '');
    const commit =
      name === 'main' ? await readRef(repository, MAIN) : await readStoredRef(db, workspaceId, branchRef(name));
    return commit === null ? null : { commit, kind: 'branch', label: `branch ${name}` };
  },
  async (_db, repository, { ref }) => {
    const name = ref.startsWith(TAGS) ? ref.slice(TAGS.length) : ref;
    const commit = (await readTags(repository)).get(name);
    if (commit === null)
      throw new Refusal('refused', `the tag ${name} does not point to a commit`, { code: 'repo/no-commit' });
    return commit === undefined ? null : { commit, kind: 'tag', label: `tag ${name}` };
  },
  async (db, _repository, { workspaceId, ref }) => {
    const [row] = await db.query<{ commit: string }>({
      name: 'revision-by-id',
      text: `SELECT r.git_commit AS commit FROM revision r
          LEFT JOIN change c ON c.workspace_id = r.workspace_id AND c.revision_seq = r.seq AND c.commit = $2
        WHERE r.workspace_id = $1 AND (r.id = $2 OR r.git_commit = $2 OR c.commit = $2)
        ORDER BY (r.id = $2) DESC, (r.git_commit = $2) DESC, r.seq DESC LIMIT 1`,
      values: [workspaceId, ref],
    });
    return row ? { commit: row.commit, kind: 'revision', label: ref.slice(0, 10) } : null;
  },
  async (_db, repository, { ref }) => {
    const main = await readRef(repository, MAIN);
    if (main === null || !/^[0-9a-f]{40}$/.test(ref) || !(await knownObjects(repository, [ref])).has(ref)) return null;
    const isOfMain = await isAncestor(repository, ref, main).catch(() => false);
    return isOfMain ? { commit: ref, kind: 'revision', label: ref.slice(0, 10) } : null;
  },
];

export interface DeployRefInput {
  readonly workspace: string;
  readonly ref: string;
  /** Deploy even while runs are live. */
  readonly force: boolean;
  readonly recordAnswer?: RecordAnswer | undefined;
}

/**
 * Makes the tree of a ref live as a new commit on main, also for a rollback. The pending push is the exception, since
 * its commit goes on main itself. Refuses as a deploy does.
 */
export async function deployRef(deps: Deps, caller: Caller, input: DeployRefInput): Promise<DeployResultBody> {
  const { workspace, force, recordAnswer } = input;
  const { id } = await findWorkspace(deps.db, caller, workspace);
  const repository = await openAligned(deps, id);
  const found = await resolveRef(deps.db, repository, { workspaceId: id, ref: input.ref });
  if (found.kind === 'pending') return deployPending(deps, caller, { ...input, workspaceId: id });
  const tree = await treeOfCommit(repository, found.commit);
  const isRollback = found.kind === 'revision' || (await isOfMain(repository, found.commit));
  const outcome = await deployTree(deps, caller, {
    workspace,
    files: tree.files,
    executable: tree.commit.executable,
    // Memory that agents wrote since stays, except files in which the ref differs from their deploy.
    mentions: 'changed',
    message: messageOf(found, tree),
    via: isRollback ? 'rollback' : 'deploy',
    force,
    recordAnswer,
  });
  return requireDeployed(outcome);
}

/** True for a commit in the history of main. */
async function isOfMain(repository: Repository, commit: string): Promise<boolean> {
  const main = await readRef(repository, MAIN);
  return main !== null && (await isAncestor(repository, commit, main).catch(() => false));
}

function messageOf({ kind, label }: ResolvedRef, { message, commit }: PushedTree): string {
  const [subject = ''] = message.split('\n');
  const of = subject === '' ? '' : `: ${subject}`;
  return kind === 'revision' ? `Roll back to ${label}${of}` : `Deploy ${label} (${commit.id.slice(0, 10)})${of}`;
}

/** The commit of a ref, with a label for messages. */
interface ResolvedRef {
  readonly commit: string;
  readonly kind: 'branch' | 'tag' | 'pending' | 'revision';
  readonly label: string;
}

/**
 * A branch, a tag (each by its name or its whole ref), the push that waits, a revision by its id in history, or a
 * commit of main by its full hash. Refuses `not_found`.
 */
async function resolveRef(
  db: Db,
  repository: Repository,
  at: { readonly workspaceId: string; readonly ref: string },
): Promise<ResolvedRef> {
  for (const find of FINDERS) {
    const found = await find(db, repository, at);
    if (found) return found;
  }
  throw notFound('ref');
}

type Find = (
  db: Db,
  repository: Repository,
  at: { readonly workspaceId: string; readonly ref: string },
) => Promise<ResolvedRef | null>;
