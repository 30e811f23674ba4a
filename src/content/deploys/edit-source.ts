import type { SourceEditBody } from '../../contract/source.js';
import type { Deps } from '../../deps.js';
import { blobId } from '../../git/index.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { editTree } from './edit-tree.js';
import { checkPrecondition, type Precondition } from './preconditions.js';
import { requirePath } from './require-path.js';

interface EditTarget {
  readonly workspace: string;
  readonly expect: Precondition;
}

/** Writes one file: deploys the live tree with that change, even while runs are live, and replaces an agent's memory. */
export async function writeSource(
  deps: Deps,
  caller: Caller,
  input: EditTarget & { readonly path: string; readonly content: Uint8Array },
): Promise<SourceEditBody> {
  const { path, content } = input;
  requirePath(path);
  const result = await editTree(deps, caller, {
    workspace: input.workspace,
    message: `Edit ${path}`,
    edit: async ({ tree }) => {
      checkPrecondition(path, tree.get(path)?.sha ?? null, input.expect);
      return { remove: [], put: new Map([[path, content]]) };
    },
  });
  return { ...result, path, sha: blobId(content) };
}

/** Moves one file. `expect.match` applies to the source path; the target path must be free. */
export async function moveSource(
  deps: Deps,
  caller: Caller,
  input: EditTarget & { readonly from: string; readonly to: string },
): Promise<SourceEditBody> {
  const { from, to } = input;
  requirePath(from);
  requirePath(to);
  let sha = '';
  const result = await editTree(deps, caller, {
    workspace: input.workspace,
    message: `Move ${from} to ${to}`,
    edit: async ({ tree }) => {
      const file = tree.get(from);
      if (!file) throw notFound('file');
      checkPrecondition(from, file.sha, { match: input.expect.match });
      checkPrecondition(to, tree.get(to)?.sha ?? null, { absent: input.expect.absent });
      if (from === to) throw new Refusal('refused', `to: ${from} is the current path; give another path`);
      if (tree.has(to)) throw new Refusal('conflict', `${to} exists already; remove it first, or choose another path`);
      sha = file.sha;
      return { remove: [from], put: new Map([[to, file]]) };
    },
  });
  return { ...result, path: to, sha };
}

/** Removes one file. */
export async function removeSource(
  deps: Deps,
  caller: Caller,
  input: EditTarget & { readonly path: string },
): Promise<SourceEditBody> {
  const { path } = input;
  requirePath(path);
  const result = await editTree(deps, caller, {
    workspace: input.workspace,
    message: `Remove ${path}`,
    edit: async ({ tree }) => {
      const file = tree.get(path);
      if (!file) throw notFound('file');
      checkPrecondition(path, file.sha, input.expect);
      return { remove: [path], put: new Map() };
    },
  });
  return { ...result, path, sha: null };
}
