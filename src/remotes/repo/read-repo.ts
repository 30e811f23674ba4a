import { alignRefs, listStoredRefs } from '../../content/index.js';
import type { RepoBody } from '../../contract/repo.js';
import type { Deps } from '../../deps.js';
import { countDistance, type Distance, GitFailed, MAIN, type Repository, readRef, readTags } from '../../git/index.js';
import { findWorkspace } from '../../people/index.js';
import type { Db } from '../../platform/db/contract.js';
import { Lru } from '../../shared/lru.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { branchOf } from './branch-refs.js';
import { readMirror } from './mirror/mirror-rows.js';

type Branch = RepoBody['branches'][number];

/** The branches and tags of a workspace's repository, how far each branch is from main, and the mirror. */
export async function readRepo(deps: Deps, caller: Caller, input: { readonly workspace: string }): Promise<RepoBody> {
  const { id } = await findWorkspace(deps.db, caller, input.workspace);
  const repository = await openAligned(deps, id);
  const main = await readRef(repository, MAIN);
  const previews = await previewsOf(deps.db, id);
  const branches: Branch[] = [{ name: 'main', commit: main, ahead: 0, behind: 0, preview: null }];
  for (const { name: ref, oid } of await listStoredRefs(deps.db, id)) {
    const name = branchOf(ref);
    if (name === null) continue;
    const apart = main === null ? { ahead: 0, behind: 0 } : await distanceOrNull(deps, repository, { main, oid });
    branches.push({ name, commit: oid, ...apart, preview: previews.get(name) ?? null });
  }
  const tags = [...(await readTags(repository))].map(([name, commit]) => ({ name, commit }));
  return { branches, tags, mirror: await readMirror(deps.db, id) };
}

/** The repository with its refs aligned. Refuses `not_found` when the workspace was just deleted. */
export async function openAligned(deps: Deps, workspaceId: string): Promise<Repository> {
  const repository = await alignRefs(deps, workspaceId);
  if (!repository) throw notFound('workspace');
  return repository;
}

/** A cache: the distance of two commits never changes. */
const known = new Lru<string, Distance>(10_000);

export async function distanceOf(repository: Repository, main: string, commit: string): Promise<Distance> {
  const key = `${main}...${commit}`;
  return known.get(key) ?? known.set(key, await countDistance(repository, main, commit));
}

/** Null counts for a branch that cannot be compared, so that the others are still listed. */
async function distanceOrNull(
  deps: Pick<Deps, 'log'>,
  repository: Repository,
  { main, oid }: { readonly main: string; readonly oid: string },
): Promise<Pick<Branch, 'ahead' | 'behind'>> {
  try {
    return await distanceOf(repository, main, oid);
  } catch (err) {
    if (!(err instanceof GitFailed) && !(err instanceof Refusal)) throw err;
    deps.log.warn({ err, main, commit: oid }, 'failed to count how far a branch is from main');
    return { ahead: null, behind: null };
  }
}

async function previewsOf({ prisma }: Db, workspaceId: string): Promise<ReadonlyMap<string, string>> {
  const rows = await prisma.workspace.findMany({
    select: { previewBranch: true, name: true },
    where: { previewOf: workspaceId },
  });
  return new Map(rows.map(({ previewBranch, name }) => [previewBranch ?? '', name]));
}
