import type { Sql } from '../../platform/db/contract.js';
import { newId } from '../../shared/ids.js';
import { storableText } from '../../shared/storable-json.js';
import type { CodeHostKind } from './hosts/index.js';

/** A push of a code host with all data that a worker needs to deploy it. */
export interface NewPush {
  readonly workspaceId: string;
  readonly host: CodeHostKind;
  /** Two deliveries with the same key are duplicates. */
  readonly deliveryKey: string | null;
  readonly repository: string;
  readonly archiveUrl: string;
  readonly branch: string;
  readonly dir: string;
  readonly commit: string;
  readonly message: string;
  readonly authors: readonly string[];
  readonly address: string | null;
}

export interface StoredPush {
  readonly id: string;
  readonly duplicate: boolean;
}

/**
 * Stores a push, once per delivery, and in the same transaction supersedes earlier waiting pushes of the same branch
 * and folder.
 */
export async function storePush(sql: Sql, push: NewPush): Promise<StoredPush> {
  const id = newId();
  const made = await sql.query({
    name: 'keep-code-push',
    text: `INSERT INTO code_push
        (id, workspace_id, host, delivery_key, repository, archive_url, branch, dir, commit, message, authors, address)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
      ON CONFLICT (workspace_id, delivery_key) DO NOTHING RETURNING 1`,
    values: [
      id,
      push.workspaceId,
      push.host,
      push.deliveryKey,
      push.repository,
      push.archiveUrl,
      push.branch,
      push.dir,
      push.commit,
      storableText(push.message.slice(0, 10_000)),
      push.authors.map(storableText),
      push.address,
    ],
  });
  if (made.length === 0) return { id: await firstOf(sql, push), duplicate: true };
  await sql.query({
    name: 'supersede-code-pushes',
    text: `UPDATE code_push SET state = 'superseded', ended_at = now(), detail = $5
      WHERE workspace_id = $1 AND branch = $2 AND dir = $3 AND id <> $4 AND state IN ('pending', 'waiting')`,
    values: [push.workspaceId, push.branch, push.dir, id, `${push.commit} was pushed after it`],
  });
  return { id, duplicate: false };
}

async function firstOf(sql: Sql, push: NewPush): Promise<string> {
  const [row] = await sql.query<{ id: string }>({
    name: 'find-code-push',
    text: 'SELECT id FROM code_push WHERE workspace_id = $1 AND delivery_key = $2',
    values: [push.workspaceId, push.deliveryKey],
  });
  if (!row) throw new Error('the stored push of a delivery disappeared between two statements');
  return row.id;
}

/** Records a request with an invalid signature, in one row per workspace, since anyone can send them. */
export async function noteUnsigned(sql: Sql, workspaceId: string, address: string | null): Promise<void> {
  await sql.query({
    name: 'note-unsigned-push',
    text: `INSERT INTO code_push (id, workspace_id, state, detail, address, tries, ended_at)
      VALUES ($1, $2, 'invalid-signature', 'it is not signed with GIT_WEBHOOK_SECRET', $3, 1, now())
      ON CONFLICT (id) DO UPDATE SET at = now(), ended_at = now(), address = excluded.address, tries = code_push.tries + 1`,
    values: [`unsigned.${workspaceId}`, workspaceId, address],
  });
}

const KEPT = 100;

/** Deletes pushes that the list no longer shows. Duplicates of a delivery are detected as long as its row exists. */
export async function sweepPushes(sql: Sql): Promise<void> {
  await sql.query(
    `DELETE FROM code_push p USING (
        SELECT id, row_number() OVER (PARTITION BY workspace_id ORDER BY id DESC) AS place FROM code_push
          WHERE state <> 'invalid-signature') AS old
      WHERE p.id = old.id AND old.place > $1 AND p.ended_at < now() - interval '24 hours'`,
    [KEPT],
  );
}
