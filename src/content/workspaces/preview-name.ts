import { createHash } from 'node:crypto';
import type { Sql } from '../../platform/db/contract.js';
import { foldName, isName } from '../../shared/ids.js';

/** The maximum length of a workspace's name. */
const MAX_NAME = 64;
const BETWEEN = '-preview-';
const HASH_DIGITS = 8;

/**
 * The possible names of a branch's preview, the preferred one first: `<workspace>-preview-<branch>` if that is a valid
 * name; then an endless series with hashes of the branch. All are valid names of workspaces.
 */
export function* previewNames(workspace: string, branch: string): Generator<string, never> {
  const plain = `${workspace}${BETWEEN}${branch}`;
  if (isName(branch) && plain.length <= MAX_NAME) yield plain;
  const slug = foldName(branch);
  for (let n = 0; ; n += 1) {
    const hash = createHash('sha256').update(`${branch}\0${n}`).digest('hex').slice(0, HASH_DIGITS);
    const head = cut(workspace, MAX_NAME - BETWEEN.length - HASH_DIGITS);
    const tail = cut(slug, MAX_NAME - head.length - BETWEEN.length - HASH_DIGITS - 1);
    yield `${head}${BETWEEN}${tail === '' ? '' : `${tail}-`}${hash}`;
  }
}

/** Cuts a name to this length, without a hyphen at its end. */
function cut(name: string, length: number): string {
  return name.slice(0, Math.max(0, length)).replace(/-+$/, '');
}

/**
 * The first of these names that no other workspace or preview of the account has. The unique index resolves a race of
 * two previews.
 */
export async function freePreviewName(
  sql: Sql,
  { tenant, workspace, branch, id }: { tenant: string; workspace: string; branch: string; id: string },
): Promise<string> {
  const names = previewNames(workspace, branch);
  for (;;) {
    const name = names.next().value;
    const taken = await sql.query('SELECT 1 FROM workspace WHERE tenant_id = $1 AND name = $2 AND id <> $3', [
      tenant,
      name,
      id,
    ]);
    if (taken.length === 0) return name;
  }
}
