import type { Deps } from '../../deps.js';
import type { Issue, SharedFiles, Workspace } from '../../format/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { forEachParallel } from '../../shared/for-each-parallel.js';
import type { LiveShared } from '../workspaces/library-tree.js';
import { readBlobs, readLiveTree } from '../workspaces/live-tree.js';
import { prepareTree, readInReach } from '../workspaces/prepare-tree.js';

export interface CheckedWorkspace {
  readonly id: string;
  readonly name: string;
  /** The revision that was checked. */
  readonly seq: number;
  /** Its plans with the new library; null when the workspace has errors with it. */
  readonly plans: Workspace['plans'] | null;
  /** The errors that the new library would cause. */
  readonly errors: readonly Issue[];
}

interface Candidate {
  readonly id: string;
  readonly name: string;
  readonly seq: number;
  readonly isPreview: boolean;
}

/** The number of checker workers. In a transaction only one runs at a time, since it has one connection. */
const AT_ONCE = 2;

/**
 * Checks every workspace of the account with a new library. A result in `known` is reused while the same revision of its
 * workspace is live.
 */
export async function recheckWorkspaces(
  deps: Deps,
  sql: Sql,
  { tenant, library, known }: { tenant: string; library: SharedFiles; known: ReadonlyMap<string, CheckedWorkspace> },
): Promise<ReadonlyMap<string, CheckedWorkspace>> {
  const candidates = await sql.query<Candidate>({
    name: 'workspaces-to-recheck',
    text: `SELECT id, name, live_seq AS seq, preview_of IS NOT NULL AS "isPreview" FROM workspace WHERE tenant_id = $1 AND live_seq > 0 ORDER BY name`,
    values: [tenant],
  });
  const checked = new Map<string, CheckedWorkspace>();
  await forEachParallel(candidates, sql === deps.db ? AT_ONCE : 1, async (candidate) => {
    const before = known.get(candidate.id);
    const isCurrent = before?.seq === candidate.seq;
    checked.set(candidate.id, isCurrent ? before : await recheck(deps, sql, { tenant, library, candidate }));
  });
  return checked;
}

async function recheck(
  deps: Deps,
  sql: Sql,
  { tenant, library, candidate }: { tenant: string; library: SharedFiles; candidate: Candidate },
): Promise<CheckedWorkspace> {
  const live = await readLiveTree(sql, candidate.id);
  const entries = [...live.source];
  const blobs = await readBlobs(
    sql,
    candidate.id,
    entries.map(([, { sha }]) => sha),
  );
  const files = entries.map(([path, { sha }]) => ({ path, content: blobs.get(sha) ?? new Uint8Array() }));
  const reach = await readInReach(sql, tenant, candidate.id);
  const wanted: LiveShared = { ...library, seq: reach.library.seq + 1 };
  const { workspace, issues } = await prepareTree(deps, files, { ...reach, library: wanted });
  const place = { id: candidate.id, name: candidate.name, seq: live.seq };
  if (workspace) return { ...place, plans: workspace.plans, errors: [] };
  // A preview does not block a change of the shared library. Its runs keep the previous plans.
  if (candidate.isPreview) return { ...place, plans: null, errors: [] };
  // Errors that exist with the current library too are not caused by this change, and must not block it.
  const before = await prepareTree(deps, files, reach);
  return { ...place, plans: null, errors: before.workspace ? issues.filter(isError) : [] };
}

function isError({ severity }: Issue): boolean {
  return severity === 'error';
}
