import type { Deps } from '../../deps.js';
import type { Issue, SourceFile } from '../../format/model.js';
import type { RecordAnswer } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import type { Caller } from '../../shared/roles.js';
import { type LiveTree, readBlobs } from '../workspaces/live-tree.js';
import type { TreeDiff } from '../workspaces/manifest.js';
import { keptMemory } from '../workspaces/memory-ref.js';
import { type PreparedTree, prepareTree, readInReach } from '../workspaces/prepare-tree.js';
import { applyTree, type Proposal, type TreeRequest } from './apply-tree.js';
import type { DeployOutcome } from './deploy-outcome.js';
import { noteRefused } from './note-refused.js';

const AGENTS_MD = 'AGENTS.md';

const FULL_HASH = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i;

const HEX = /^[0-9a-f]{7,64}$/i;

/** `v1.2.3`, `build-417`, `2026-11-29`: a word without a digit is more likely a message. */
const SHORT_ID = /^(?=.*\d)[\w.:/+@#-]{1,100}$/;

const TOKEN = /^[^\s\p{C}]{1,200}$/u;

interface DeployInput {
  readonly workspace: string;
  /** The whole tree. Files that it leaves out are removed, except memory that agents wrote. */
  readonly files: readonly SourceFile[];
  /** See `readCommit`. */
  readonly commit?: string | undefined;
  readonly message?: string | undefined;
  readonly force?: boolean | undefined;
  readonly dryRun?: boolean | undefined;
  /** `false` refuses a tree without AGENTS.md that removes most of the live files. */
  readonly allowEmpty?: boolean | undefined;
  readonly base?: string | undefined;
  readonly via: 'deploy' | 'push' | 'rollback';
  /** Memory files that replace an agent's version; all in `files` when left out. `changed`: those that differ from the revision. */
  readonly mentions?: readonly string[] | 'changed' | undefined;
  /** The executable paths; without it each file keeps its mark. */
  readonly executable?: ReadonlySet<string> | undefined;
  /** Further writes in the transaction of the change. Not called when nothing changes. */
  readonly inTransaction?: TreeRequest['inTransaction'];
  /** Stores the answer for the Idempotency-Key, in the same transaction. */
  readonly recordAnswer?: RecordAnswer | undefined;
}

/** Deploys a whole tree. Refuses as `applyTree` does. */
export async function deployTree(deps: Deps, caller: Caller, input: DeployInput): Promise<DeployOutcome> {
  const { message, ...ids } = readCommit(input);
  const propose = createTreeProposal(deps, caller.tenant, input);
  return applyTree(deps, caller, {
    workspace: input.workspace,
    propose,
    ...ids,
    via: input.via,
    message: (diff) => message ?? describeDiff(diff),
    base: input.base ?? null,
    overLiveRuns: input.force ?? false,
    dryRun: input.dryRun ?? false,
    recordAnswer: input.recordAnswer,
    inTransaction: input.inTransaction,
  }).catch(async (error: unknown) => {
    await noteRefused(deps, caller, input, error);
    throw error;
  });
}

function describeDiff({ added, changed, removed }: TreeDiff): string {
  const parts = [
    [added.length, 'added'],
    [changed.length, 'changed'],
    [removed.length, 'removed'],
  ] as const;
  const counts = parts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return counts.length === 0 ? 'Deploy the same files' : `Deploy: ${counts.join(', ')}`;
}

/** How a deploy is named by the `commit` and the `message` of its body. */
interface DeployName {
  /** A full hash: the revision's id, which belongs to this tree only. */
  readonly id: string | null;
  /** Any other id: used for the revision if it is free, so that a CI may send the same one twice. */
  readonly preferredId: string | null;
  /** The id as the caller gave it, by which history finds the deploy. */
  readonly givenId: string | null;
  readonly message: string | undefined;
}

/** Reads `commit` as an id or as text of the message, so that nothing the caller gave is lost. */
function readCommit(input: {
  readonly commit?: string | undefined;
  readonly message?: string | undefined;
}): DeployName {
  const commit = cleaned(input.commit);
  const message = cleaned(input.message);
  if (commit === undefined) return { id: null, preferredId: null, givenId: null, message };
  if (FULL_HASH.test(commit)) return { id: commit.toLowerCase(), preferredId: null, givenId: commit, message };
  const isHex = HEX.test(commit);
  const preferredId = isHex || SHORT_ID.test(commit) ? commit : null;
  const givenId = TOKEN.test(commit) ? commit : null;
  if (message === undefined) return { id: null, preferredId, givenId, message: isHex ? undefined : commit };
  const isText = givenId === null && message !== commit;
  return { id: null, preferredId, givenId, message: isText ? `${message}\n\n${commit}` : message };
}

function cleaned(text: string | undefined): string | undefined {
  return text?.replaceAll('\0', '').trim() || undefined;
}

type Given = Pick<DeployInput, 'files' | 'mentions' | 'executable' | 'via' | 'allowEmpty'>;

/** A deploy of a whole tree: its files, and the memory of agents that stays beside them. */
function createTreeProposal(deps: Deps, tenant: string, input: Given): TreeRequest['propose'] {
  const { files, mentions, executable } = input;
  const mentioned = new Set([...files.map(({ path }) => path), ...(Array.isArray(mentions) ? mentions : [])]);
  let last: { readonly key: string; readonly prepared: PreparedTree } | undefined;
  return async (sql, workspaceId, live): Promise<Proposal> => {
    const reach = await readInReach(sql, tenant, workspaceId);
    const kept = keptMemory(live, mentioned);
    // The files are checked once, and again only if the library or the memory has changed.
    const key = JSON.stringify([reach.library.seq, [...kept].map(([path, { sha }]) => [path, sha])]);
    if (last?.key !== key) {
      const all = kept.size === 0 ? files : [...files, ...(await readKept(sql, workspaceId, kept))];
      last = { key, prepared: await prepareTree(deps, all, reach) };
    }
    const prepared = input.allowEmpty === false ? refuseEmptying(last.prepared, live, mentioned) : last.prepared;
    return { prepared, mentions: mentionsOf(input, prepared, live), kept: new Set(kept.keys()), executable };
  };
}

async function readKept(
  sql: Sql,
  workspaceId: string,
  kept: ReadonlyMap<string, { readonly sha: string }>,
): Promise<readonly SourceFile[]> {
  const shas = [...kept.values()].map(({ sha }) => sha);
  const blobs = await readBlobs(sql, workspaceId, shas);
  return [...kept].map(([path, { sha }]) => ({ path, content: blobs.get(sha) ?? new Uint8Array() }));
}

function mentionsOf({ mentions, files, via }: Given, { files: prepared }: PreparedTree, live: LiveTree): Set<string> {
  if (mentions !== 'changed') return new Set(mentions ?? files.map(({ path }) => path));
  // A push that contains an agent's memory file takes it over; an older tree that is deployed again does not.
  const takesOver = (path: string): boolean => via === 'push' && live.source.get(path)?.fromAgent === true;
  const given = files.map(({ path }) => path);
  return new Set(given.filter((path) => live.source.get(path)?.sha !== prepared.get(path)?.sha || takesOver(path)));
}

/**
 * Refuses a deploy without AGENTS.md that is empty or removes most of the live files: probably the caller sent only the
 * changed files. A workspace with AGENTS.md alone has nothing to lose.
 */
function refuseEmptying(prepared: PreparedTree, { source }: LiveTree, given: ReadonlySet<string>): PreparedTree {
  const paths = [...source.keys()];
  const removed = paths.filter((path) => !prepared.files.has(path)).length;
  const losesMost = removed > paths.length / 2 && paths.some((path) => path !== AGENTS_MD);
  if (given.has(AGENTS_MD) || paths.length === 0 || !(given.size === 0 || losesMost)) return prepared;
  const issue: Issue = {
    path: AGENTS_MD,
    line: 1,
    column: 1,
    code: 'tree/would-empty',
    severity: 'error',
    message: `This deploy has no AGENTS.md and would remove ${removed} of ${paths.length} live files: a deploy is the whole tree, and deletes what it does not hold.`,
    hint: 'Send every file of the workspace, change single files by PUT /source, or say allowEmpty: true.',
  };
  return { ...prepared, workspace: null, issues: [issue, ...prepared.issues] };
}
