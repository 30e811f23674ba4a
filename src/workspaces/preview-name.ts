import { createHash } from 'node:crypto';
import type { Sql } from '../db/contract.js';
import { foldName, isName } from '../shared/ids.js';

/** As long as every name of a workspace. */
const MAX_NAME = 64;
const BETWEEN = '-preview-';
const HASH_DIGITS = 8;

/**
 * The names that a branch's preview may have, the wished one first: `<workspace>-preview-<branch>` where the branch is
 * such a word itself and nothing is too long; then that with a hash of the branch, of which there is no end. All are
 * names as workspaces have them.
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

/** At most so long, and no hyphen at its end. */
function cut(name: string, length: number): string {
  return name.slice(0, Math.max(0, length)).replace(/-+$/, '');
}

/**
 * The first of them that no other workspace of the account has, a real one or a preview: so a preview never stands over
 * anything. Two that choose at once meet at the unique name.
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
