import { createHash } from 'node:crypto';
import type { LibraryEditBody } from '../../contract/library.js';
import type { Deps } from '../../deps.js';
import type { CheckedLibrary, Issue, SourceFile, Workspace } from '../../format/index.js';
import { blobId } from '../../git/index.js';
import { audit, type RecordAnswer } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { failpoint } from '../../shared/failpoint.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { storableJson } from '../../shared/storable-json.js';
import { inTurn } from '../workspaces/in-turn.js';
import {
  ACCOUNT_FILE,
  type LibraryIndex,
  type LiveLibrary,
  libraryId,
  lockLibrary,
  readLiveLibrary,
} from '../workspaces/library-tree.js';
import { readBlobs } from '../workspaces/live-tree.js';
import { diffTrees, isEmptyDiff, type TreeDiff } from '../workspaces/manifest.js';
import type { PreparedFile } from '../workspaces/prepare-tree.js';
import { type ReadyCommit, storeRevision } from '../workspaces/store-revision.js';
import { writeChange } from '../workspaces/write-change.js';
import { checkAccountFile, requireAccountAdmin, touchesAccount, writeAccount } from './account-file.js';
import { type CheckedWorkspace, recheckWorkspaces } from './recheck.js';
import { storeChangedPlans } from './store-plans.js';

type Put = Uint8Array | { readonly sha: string };

/** The live library that a change starts from. */
export interface EditedLibrary {
  readonly gitCommit: string | null;
  /** A file's text; null when there is none. */
  readonly read: (path: string) => Promise<string | null>;
}

export interface LibraryChange {
  /** Makes the files after the change. Called again when another change came first; throws a refusal. */
  readonly edit: (
    files: ReadonlyMap<string, { readonly sha: string }>,
    live: EditedLibrary,
  ) => ReadonlyMap<string, Put> | Promise<ReadonlyMap<string, Put>>;
  readonly via: 'edit' | 'push';
  /** An existing commit of these files, on top of the live one; without it a commit is created. `inTransaction` adopts its pack. */
  readonly commit?: ReadyCommit | undefined;
  /** Further writes in the transaction of the change. Not called when nothing changes. */
  readonly inTransaction?: ((sql: Sql) => Promise<void>) | undefined;
  readonly message: string;
  /** The action of the audit entry. */
  readonly action: string;
  readonly target: string;
  readonly detail?: object | undefined;
  /** Stores the answer for the Idempotency-Key, in the same transaction. */
  readonly recordAnswer?: RecordAnswer | undefined;
}

/** What a change of the library did; an edit of one file adds its path and sha. */
export type LibraryResult = Omit<LibraryEditBody, 'path' | 'sha'>;

interface Draft {
  readonly live: LiveLibrary;
  readonly files: ReadonlyMap<string, PreparedFile>;
  readonly diff: TreeDiff;
  readonly checked: CheckedLibrary;
  /** The content of the account's own file; null when it does not change. */
  readonly account: Workspace | null;
  /** The account's workspaces, checked with the new library. */
  readonly workspaces: ReadonlyMap<string, CheckedWorkspace>;
}

/**
 * Changes the account's library, all or nothing, as a deploy changes a workspace: it is checked by itself and with every
 * workspace of the account, makes a revision and an entry in history, and applies to runs that start later. Refuses
 * `refused` with its issues, or with those of each workspace that it would break, and `forbidden` when a caller below
 * admin changes the account's AGENTS.md.
 */
export async function changeLibrary(deps: Deps, caller: Caller, change: LibraryChange): Promise<LibraryResult> {
  requireWholeAccount(caller);
  const { tenant } = caller;
  const draft = await draftLibrary(deps, deps.db, { tenant, change });
  refuse(caller, draft);
  if (isLive(change, draft)) return answer(draft, { applied: false });
  const changed = await inTurn(libraryId(tenant), () =>
    deps.db.transaction(async (sql) => {
      const seq = await lockLibrary(sql, tenant, 'update');
      const isOld = seq !== draft.live.seq;
      // No deploy runs while the library is locked, so this check is valid until the commit.
      const current = isOld
        ? await draftLibrary(deps, sql, { tenant, change })
        : { ...draft, workspaces: await readAgain(deps, sql, { tenant, ...draft }) };
      refuse(caller, current);
      if (isLive(change, current)) return answer(current, { applied: false });
      const result = await makeLive(deps, sql, { caller, change, draft: current });
      await change.inTransaction?.(sql);
      await change.recordAnswer?.(sql, result);
      return result;
    }),
  );
  failpoint('pointer-swapped');
  return changed;
}

/** True when nothing would change: the same files, and no other commit. */
function isLive({ commit }: LibraryChange, { diff, live }: Draft): boolean {
  return isEmptyDiff(diff) && (commit === undefined || commit.id === live.gitCommit);
}

/** Refuses `forbidden` for a caller whose access is limited to some workspaces. */
export function requireWholeAccount(caller: Caller): void {
  if (caller.workspaces === null) return;
  throw new Refusal(
    'forbidden',
    'the library belongs to every workspace, and your access is limited to some workspaces',
    {
      need: 'every workspace',
    },
  );
}

async function draftLibrary(
  deps: Deps,
  sql: Sql,
  { tenant, change }: { readonly tenant: string; readonly change: LibraryChange },
): Promise<Draft> {
  const live = await readLiveLibrary(sql, tenant);
  const edited: EditedLibrary = { gitCommit: live.gitCommit, read: (path) => readText(sql, live, path) };
  const files = await contentsOf(sql, live.id, await change.edit(live.source, edited));
  const diff = diffTrees(live.source, files);
  const none = new Map<string, CheckedWorkspace>();
  const draft = { live, files, diff, account: null, workspaces: none };
  const known: CheckedLibrary = { issues: live.index?.warnings ?? [], entries: live.index?.entries ?? [] };
  if (isEmptyDiff(diff)) return { ...draft, checked: known };
  const { says: account, issues } = touchesAccount(live.source, files)
    ? await checkAccountFile(deps, files)
    : { says: null, issues: [] };
  // Reports the faults of the account's own file once. Workspaces do not read that file.
  const others = isAccountAlone(diff) ? known : await deps.checker.checkLibrary(filesOf(files));
  const checked = { ...others, issues: [...issues, ...others.issues.filter((one) => !isAmong(issues, one))] };
  if (checked.issues.some(isError) || isAccountAlone(diff)) return { ...draft, checked, account };
  return { ...draft, checked, account, workspaces: await readWorkspaces(deps, sql, { tenant, ...draft }) };
}

function isAccountAlone({ added, changed, removed }: TreeDiff): boolean {
  return [...added, ...changed, ...removed].every((path) => path === ACCOUNT_FILE);
}

function isAmong(issues: readonly Issue[], { path, line, code }: Issue): boolean {
  return issues.some((one) => one.path === path && one.line === line && one.code === code);
}

function filesOf(files: Draft['files']): SourceFile[] {
  return [...files].map(([path, { content }]) => ({ path, content }));
}

async function readText(sql: Sql, live: LiveLibrary, path: string): Promise<string | null> {
  const sha = live.source.get(path)?.sha;
  if (sha === undefined) return null;
  return new TextDecoder().decode((await readBlobs(sql, live.id, [sha])).get(sha));
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

async function readAgain(
  deps: Deps,
  sql: Sql,
  draft: { readonly tenant: string } & Draft,
): Promise<Draft['workspaces']> {
  return isAccountAlone(draft.diff) ? draft.workspaces : readWorkspaces(deps, sql, draft);
}

function readWorkspaces(
  deps: Deps,
  sql: Sql,
  { tenant, files, workspaces }: { readonly tenant: string } & Pick<Draft, 'files' | 'workspaces'>,
): Promise<ReadonlyMap<string, CheckedWorkspace>> {
  const digest = createHash('sha256');
  const read = filesOf(files).filter(({ path }) => path !== ACCOUNT_FILE);
  for (const { path } of read.sort((a, b) => (a.path < b.path ? -1 : 1)))
    digest.update(`${path}\0${files.get(path)?.sha}\0`);
  const library = { key: read.length === 0 ? '' : digest.digest('hex'), files: read };
  return recheckWorkspaces(deps, sql, { tenant, library, known: workspaces });
}

function refuse(caller: Caller, draft: Draft): void {
  if (touchesAccount(draft.live.source, draft.files)) requireAccountAdmin(caller);
  refuseFaults(draft);
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
  { caller, change, draft }: { readonly caller: Caller; readonly change: LibraryChange; readonly draft: Draft },
): Promise<LibraryResult> {
  const { live, files, checked } = draft;
  const at = new Date(deps.clock.now());
  const { message, via, commit } = change;
  const index: LibraryIndex = { entries: checked.entries, warnings: checked.issues };
  const stored = await storeRevision(deps, sql, {
    workspaceId: live.id,
    live,
    files,
    id: null,
    by: caller.actor,
    via,
    commit,
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
  if (draft.account) await writeAccount(sql, caller.tenant, draft.account);
  await audit(sql, caller, change.action, change.target, { ...change.detail, revision: stored.id, workspaces });
  return { ...answer(draft, { applied: true }), revision: stored.id, workspaces };
}

function answer({ live, diff, checked }: Draft, { applied }: { readonly applied: boolean }): LibraryResult {
  return { ok: true, applied, ...diff, issues: checked.issues, revision: live.revision, workspaces: [] };
}

function isError({ severity }: Issue): boolean {
  return severity === 'error';
}
