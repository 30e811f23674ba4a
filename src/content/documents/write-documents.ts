import type { Deps } from '../../deps.js';
import { audit, type RecordAnswer } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { isName } from '../../shared/ids.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { textBytes } from '../../shared/text-bytes.js';
import { editTree } from '../deploys/edit-tree.js';

export interface NewDocument {
  readonly workspace: string;
  readonly action: string;
  /** The name in the audit and in the commit message. */
  readonly name: string;
  readonly message: string;
  /** Its files by path, given which paths there are. Called again when another write came first. */
  readonly files: (paths: ReadonlySet<string>) => ReadonlyMap<string, string>;
  /** The answer, read in the transaction of the write. */
  readonly recordAnswer?: RecordAnswer | undefined;
}

/** Writes new files, all or none, as one commit. Refuses `conflict` where a path or its other spelling is taken. */
export async function createDocument<T extends object>(
  deps: Deps,
  caller: Caller,
  wish: NewDocument,
  answer: (sql: Sql) => Promise<T>,
): Promise<T> {
  let made: T | undefined;
  await editTree(deps, caller, {
    workspace: wish.workspace,
    message: wish.message,
    edit: async ({ tree }) => {
      const paths = new Set(tree.keys());
      const files = wish.files(paths);
      for (const path of files.keys()) refuseTaken(path, paths);
      return { remove: [], put: new Map([...files].map(([path, text]) => [path, textBytes(text)])) };
    },
    inTransaction: async (sql) => {
      await audit(sql, caller, wish.action, wish.name, { workspace: wish.workspace });
      made = await answer(sql);
      await wish.recordAnswer?.(sql, made);
    },
  });
  if (!made) throw new Error(`nothing was written for ${wish.name}`);
  return made;
}

function refuseTaken(path: string, paths: ReadonlySet<string>): void {
  const taken = [path, ...otherSpellings(path)].find((one) => paths.has(one));
  if (taken !== undefined) throw new Refusal('conflict', `${taken} is there already; choose another name`);
}

/** The other path of an agent or a tool, which may be a file or a folder, but not both. */
function otherSpellings(path: string): string[] {
  const folder = path.replace(/\/(?:agent|tool)\.md$/, '');
  if (folder !== path) return [`${folder}.md`];
  const [, start, kind] = /^((?:.*\/)?(agent|tool)s\/[^/]+)\.md$/.exec(path) ?? [];
  return start === undefined ? [] : [`${start}/${kind}.md`];
}

export function requireName(name: string): void {
  if (isName(name)) return;
  throw new Refusal('refused', 'name: lower-case words and digits joined by single hyphens, 64 characters at most', {
    code: 'invalid',
  });
}
