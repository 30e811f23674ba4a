import { createHash } from 'node:crypto';
import { audit, type Once } from '../accounts/index.js';
import type { Sql } from '../db/contract.js';
import type { Deps } from '../deps.js';
import { blobId } from '../git/index.js';
import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { storableJson } from '../shared/storable-json.js';
import type { CheckedShelf, Issue } from '../workspace/index.js';
import {
  diffTrees,
  inTurn,
  isEmptyDiff,
  type LiveShelf,
  libraryId,
  lockShelf,
  type PreparedFile,
  readBlobs,
  readLiveShelf,
  type ShelfIndex,
  storeRevision,
  type TreeDiff,
  writeChange,
} from '../workspaces/index.js';
import { type CheckedWorkspace, recheckWorkspaces } from './recheck.js';
import { storeChangedPlans } from './store-plans.js';

type Put = Uint8Array | { readonly sha: string };

export interface ShelfChange {
  /** The files after the change. Called again when another change came first; throws what refuses it. */
  readonly edit: (files: ReadonlyMap<string, { readonly sha: string }>) => ReadonlyMap<string, Put>;
  readonly via: 'edit' | 'push';
  readonly message: string;
  /** Of the audit's entry. */
  readonly action: string;
  readonly target: string;
  /** Keeps the answer with what was done. */
  readonly once?: Once | undefined;
}

export interface ShelfResult extends TreeDiff {
  readonly ok: true;
  readonly applied: boolean;
  readonly issues: readonly Issue[];
  readonly revision: string | null;
  /** The workspaces whose new runs go by other plans than before. */
  readonly workspaces: readonly string[];
}

interface Draft {
  readonly live: LiveShelf;
  readonly files: ReadonlyMap<string, PreparedFile>;
  readonly diff: TreeDiff;
  readonly checked: CheckedShelf;
  /** Where the library goes, with what it would mean there. */
  readonly workspaces: ReadonlyMap<string, CheckedWorkspace>;
}

/**
 * Changes the account's library, whole or not at all, as a deploy does a workspace: it is checked by itself and with
 * every workspace of the account, is a revision with a line in history, and counts for runs that begin from now on.
 * Refuses `refused` with its issues, or with those of each workspace that it would break.
 */
export async function changeShelf(deps: Deps, caller: Caller, change: ShelfChange): Promise<ShelfResult> {
  requireWholeAccount(caller);
  const { tenant } = caller;
  const draft = await draftShelf(deps, deps.db, { tenant, change });
  refuseFaults(draft);
  if (isEmptyDiff(draft.diff)) return answer(draft, { applied: false });
  return inTurn(libraryId(tenant), () =>
    deps.db.transaction(async (sql) => {
      const seq = await lockShelf(sql, tenant, 'update');
      const isOld = seq !== draft.live.seq;
      // Nobody deploys while the library is locked: what is read now stays until the commit.
      const current = isOld
        ? await draftShelf(deps, sql, { tenant, change })
        : { ...draft, workspaces: await readWorkspaces(deps, sql, { tenant, ...draft }) };
      refuseFaults(current);
      if (isEmptyDiff(current.diff)) return answer(current, { applied: false });
      const result = await makeLive(deps, sql, { caller, change, draft: current });
      await change.once?.(sql, result);
      return result;
    }),
  );
}

/** What holds for every workspace is for those who see every workspace. */
export function requireWholeAccount(caller: Caller): void {
  if (caller.workspaces === null) return;
  throw new Refusal('forbidden', 'the library is every workspace’s, and you are narrowed to some', {
    need: 'every workspace',
  });
}

async function draftShelf(
  deps: Deps,
  sql: Sql,
  { tenant, change }: { readonly tenant: string; readonly change: ShelfChange },
): Promise<Draft> {
  const live = await readLiveShelf(sql, tenant);
  const files = await contentsOf(sql, live.id, change.edit(live.source));
  const diff = diffTrees(live.source, files);
  const none = new Map<string, CheckedWorkspace>();
  if (isEmptyDiff(diff))
    return { live, files, diff, checked: { issues: live.index?.warnings ?? [], entries: [] }, workspaces: none };
  const checked = await deps.checker.checkShelf([...files].map(([path, { content }]) => ({ path, content })));
  const draft = { live, files, diff, checked, workspaces: none };
  if (checked.issues.some(isError)) return draft;
  return { ...draft, workspaces: await readWorkspaces(deps, sql, { tenant, ...draft }) };
}

async function contentsOf(sql: Sql, id: string, files: ReadonlyMap<string, Put>): Promise<Map<string, PreparedFile>> {
  const kept = [...files.values()].flatMap((file) => (file instanceof Uint8Array ? [] : [file.sha]));
  const blobs = await readBlobs(sql, id, kept);
  return new Map(
    [...files].map(([path, file]) => {
      if (file instanceof Uint8Array) return [path, { sha: blobId(file), content: file }];
      return [path, { sha: file.sha, content: blobs.get(file.sha) ?? new Uint8Array() }];
    }),
  );
}

function readWorkspaces(
  deps: Deps,
  sql: Sql,
  { tenant, files, workspaces }: { readonly tenant: string } & Pick<Draft, 'files' | 'workspaces'>,
): Promise<ReadonlyMap<string, CheckedWorkspace>> {
  const digest = createHash('sha256');
  for (const [path, { sha }] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) digest.update(`${path}\0${sha}\0`);
  const library = {
    key: files.size === 0 ? '' : digest.digest('hex'),
    files: [...files].map(([path, { content }]) => ({ path, content })),
  };
  return recheckWorkspaces(deps, sql, { tenant, library, known: workspaces });
}

function refuseFaults({ checked, diff, workspaces }: Draft): void {
  const [first] = checked.issues.filter(isError);
  const nothing = { ok: false, applied: false, ...diff, issues: checked.issues };
  if (first) {
    const where = `${first.path}:${first.line}:${first.column} ${first.code} ${first.message}`;
    throw new Refusal('refused', `the library would have a fault, so nothing was applied: ${where}`, nothing);
  }
  const broken = [...workspaces.values()].filter(({ errors }) => errors.length > 0);
  if (broken.length === 0) return;
  const names = broken.map(({ name }) => name);
  throw new Refusal(
    'refused',
    `this would break ${names.join(', ')}, so nothing was applied; change them first, or give them a copy of their own`,
    {
      code: 'library/breaks',
      ...nothing,
      breaks: broken.map(({ name, errors }) => ({ workspace: name, issues: errors })),
    },
  );
}

async function makeLive(
  deps: Deps,
  sql: Sql,
  { caller, change, draft }: { readonly caller: Caller; readonly change: ShelfChange; readonly draft: Draft },
): Promise<ShelfResult> {
  const { live, files, checked } = draft;
  const at = new Date(deps.clock.now());
  const { message, via } = change;
  const index: ShelfIndex = { entries: checked.entries, warnings: checked.issues };
  const stored = await storeRevision(deps, sql, {
    workspaceId: live.id,
    live,
    files,
    id: null,
    by: caller.actor,
    via,
    message,
    at,
    plans: {},
    index: storableJson(index),
  });
  await writeChange(sql, {
    workspaceId: live.id,
    id: stored.id,
    at,
    via,
    by: caller.actor,
    message,
    before: live.source,
    after: stored.manifest,
    revisionSeq: stored.seq,
    runId: null,
  });
  const workspaces = await storeChangedPlans(sql, stored.seq, [...draft.workspaces.values()]);
  await sql.query({
    name: 'swap-library',
    text: 'UPDATE library SET live_seq = $2, updated_at = $3 WHERE tenant_id = $1',
    values: [caller.tenant, stored.seq, at],
  });
  await audit(sql, caller, change.action, change.target, { revision: stored.id, workspaces });
  return { ...answer(draft, { applied: true }), revision: stored.id, workspaces };
}

function answer({ live, diff, checked }: Draft, { applied }: { readonly applied: boolean }): ShelfResult {
  return { ok: true, applied, ...diff, issues: checked.issues, revision: live.revision, workspaces: [] };
}

function isError({ severity }: Issue): boolean {
  return severity === 'error';
}
