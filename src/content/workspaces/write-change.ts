import type { MarkedFile } from '../../git/index.js';
import type { Sql } from '../../platform/db/contract.js';
import type { Actor } from '../../shared/roles.js';
import { diffMarkedTrees } from './manifest.js';

type Files = ReadonlyMap<string, MarkedFile>;

export interface ChangeInput {
  readonly workspaceId: string;
  /** The revision's id, or a new one when the change makes no revision. */
  readonly id: string;
  readonly at: Date;
  readonly via: 'deploy' | 'push' | 'edit' | 'agent' | 'rollback';
  readonly by: Actor;
  readonly message: string;
  readonly before: Files;
  readonly after: Files;
  readonly revisionSeq: number | null;
  readonly runId: string | null;
  /** The id that the caller gave, or the commit of a push that was refused. */
  readonly givenId?: string | null | undefined;
  /** Why the change was refused, and the paths concerned; without it the change is live. */
  readonly refused?: { readonly reason: string; readonly paths: readonly string[] } | undefined;
}

/** Writes an entry of history, with the blobs before and after. */
export async function writeChange(sql: Sql, input: ChangeInput): Promise<void> {
  const { added, changed, removed } = diffMarkedTrees(input.before, input.after);
  const moved = [...added, ...changed, ...removed].sort();
  const paths = input.refused?.paths ?? moved;
  const files = moved.map((path) => ({
    path,
    before: input.before.get(path)?.sha ?? null,
    after: input.after.get(path)?.sha ?? null,
  }));
  await sql.query({
    name: 'insert-change',
    text: `INSERT INTO change (workspace_id, id, at, via, by, message, paths, files, revision_seq, run_id, commit, refused)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    values: [
      input.workspaceId,
      input.id,
      input.at,
      input.via,
      JSON.stringify(input.by),
      input.message,
      paths,
      JSON.stringify(files),
      input.revisionSeq,
      input.runId,
      input.givenId ?? null,
      input.refused?.reason ?? null,
    ],
  });
}
