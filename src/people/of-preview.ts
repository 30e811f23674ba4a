import type { Sql } from '../platform/db/contract.js';
import { Refusal } from '../shared/refusal.js';

interface Preview {
  readonly of: string;
  readonly branch: string;
}

/** The workspace and the branch that a preview shows; null for any other workspace. */
export async function readPreview(sql: Sql, workspaceId: string): Promise<Preview | null> {
  const [row] = await sql.query<Preview>({
    name: 'read-preview',
    text: `SELECT o.name AS of, w.preview_branch AS branch FROM workspace w JOIN workspace o ON o.id = w.preview_of
      WHERE w.id = $1`,
    values: [workspaceId],
  });
  return row ?? null;
}

/** What cannot be changed in a preview, and what to do instead. */
const INSTEAD = {
  files: ({ of, branch }: Preview) => `its files are those of the branch ${branch} of ${of}: push to that branch`,
  name: ({ branch, of }: Preview) => `it has the name of the branch ${branch} of ${of}: rename that`,
  itself: ({ of, branch }: Preview) => `it goes with the branch ${branch} of ${of}: delete that branch`,
  secrets: ({ of }: Preview) => `it reads the secrets of ${of}: name that workspace`,
  mirror: ({ of }: Preview) => `it is a branch of ${of}: mirror that workspace`,
  keys: ({ of }: Preview) => `its files are those of a branch of ${of}: a deploy key is for that workspace`,
} as const;

/** Refuses `conflict` for a preview, whose content comes from its branch and its source workspace. */
export async function requireNoPreview(sql: Sql, workspaceId: string, what: keyof typeof INSTEAD): Promise<void> {
  const preview = await readPreview(sql, workspaceId);
  if (preview) throw new Refusal('conflict', `this is a preview, and ${INSTEAD[what](preview)}`, { code: 'preview' });
}
