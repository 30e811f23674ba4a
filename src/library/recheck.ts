import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
import type { Issue, SharedFiles, Workspace } from '../workspace/index.js';
import { type LiveShared, prepareTree, readBlobs, readInReach, readLiveTree } from '../workspaces/index.js';

export interface CheckedWorkspace {
  readonly id: string;
  readonly name: string;
  /** The revision that was checked. */
  readonly seq: number;
  /** What it would run by; null when the new library breaks it, or when it was broken before. */
  readonly plans: Workspace['plans'] | null;
  /** What would be wrong with it, that is not wrong now. */
  readonly errors: readonly Issue[];
}

interface Candidate {
  readonly id: string;
  readonly name: string;
  readonly seq: number;
  readonly isPreview: boolean;
}

/** As many are read at once as the checker has workers. In a transaction one: it has one connection, and one query at a time. */
const AT_ONCE = 2;

/**
 * Reads every workspace of the account against a library that is to be. `known` are those that were read before: they
 * are read again only when another revision of theirs is live.
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
  const waiting = candidates.values();
  const work = async () => {
    for (const candidate of waiting) {
      const before = known.get(candidate.id);
      checked.set(
        candidate.id,
        before?.seq === candidate.seq ? before : await recheck(deps, sql, { tenant, library, candidate }),
      );
    }
  };
  await Promise.all(Array.from({ length: sql === deps.db ? AT_ONCE : 1 }, work));
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
  // A branch that somebody tries out keeps nobody from changing what is everybody's: it goes on by its plans of before.
  if (candidate.isPreview) return { ...place, plans: null, errors: [] };
  // What another release refuses, say, is no fault of this change, and must not keep the library as it is for ever.
  const before = await prepareTree(deps, files, reach);
  return { ...place, plans: null, errors: before.workspace ? issues.filter(isError) : [] };
}

function isError({ severity }: Issue): boolean {
  return severity === 'error';
}
