import type { Deps } from '../../deps.js';
import type { Issue, SourceFile } from '../../format/model.js';
import type { Sql } from '../../platform/db/contract.js';
import { type LiveTree, readBlobs } from '../workspaces/live-tree.js';
import { keptMemory } from '../workspaces/memory-ref.js';
import { type PreparedTree, prepareTree, readInReach } from '../workspaces/prepare-tree.js';
import type { Proposal, TreeRequest } from './apply-tree.js';
import type { DeployInput } from './deploy-tree.js';

type Given = Pick<DeployInput, 'files' | 'mentions' | 'executable' | 'via' | 'allowEmpty'>;

/** A deploy of a whole tree: its files, and the memory of agents that stays beside them. */
export function createTreeProposal(deps: Deps, tenant: string, input: Given): TreeRequest['propose'] {
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
  // A code host's tree that holds an agent's memory has taken it over; an older tree that is deployed again has not.
  const takesOver = (path: string): boolean => via === 'push' && live.source.get(path)?.fromAgent === true;
  const given = files.map(({ path }) => path);
  return new Set(given.filter((path) => live.source.get(path)?.sha !== prepared.get(path)?.sha || takesOver(path)));
}

const AGENTS_MD = 'AGENTS.md';

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
