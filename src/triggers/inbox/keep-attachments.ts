import type { Sql } from '../../db/contract.js';
import type { Deps } from '../../deps.js';
import { newId } from '../../shared/ids.js';
import { attachmentNames } from './attachment-names.js';
import type { Attachment } from './mail.js';

/** As a run's input tells it: the file itself is read by its path. */
export interface KeptAttachment {
  readonly [key: string]: string | number;
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly path: string;
}

export interface KeptAttachments {
  readonly list: readonly KeptAttachment[];
  /** Makes them files of the workspace, in the transaction of what they came for. */
  readonly index: (sql: Sql, workspaceId: string) => Promise<void>;
}

/** Stores the bytes of a mail's files, each under `files/inbox/<a new id>/`, so that no mail writes over another's. */
export async function keepAttachments(deps: Deps, attachments: readonly Attachment[]): Promise<KeptAttachments> {
  const folder = `files/inbox/${newId(deps.clock.now())}`;
  const names = attachmentNames(attachments.map(({ name }) => name));
  const kept: (KeptAttachment & { readonly sha: string })[] = [];
  for (const [index, { type, content }] of attachments.entries()) {
    const name = names[index] ?? '';
    const sha = await deps.blobs.put(content);
    kept.push({ name, type: plainType(type), size: content.byteLength, path: `${folder}/${name}`, sha });
  }
  return {
    list: kept.map(({ name, type, size, path }) => ({ name, type, size, path })),
    index: (sql, workspaceId) => indexFiles(sql, workspaceId, kept),
  };
}

/** What a sender calls a file is shown to people and served by nobody: a type of another form is none. */
function plainType(type: string): string {
  const plain = type.split(';')[0]?.trim().toLowerCase() ?? '';
  return /^[a-z]+\/[a-z0-9.+-]{1,80}$/.test(plain) ? plain : 'application/octet-stream';
}

const BY = { kind: 'event', id: 'email', label: 'email' };

async function indexFiles(
  sql: Sql,
  workspaceId: string,
  files: readonly (KeptAttachment & { readonly sha: string })[],
): Promise<void> {
  if (files.length === 0) return;
  await sql.query({
    name: 'keep-attachments',
    text: `INSERT INTO storage_entry (workspace_id, path, sha, size, type, written_by)
      SELECT $1, f.path, f.sha, f.size, f.type, $2
      FROM unnest($3::text[], $4::text[], $5::bigint[], $6::text[]) AS f (path, sha, size, type) ORDER BY f.path
      ON CONFLICT (workspace_id, path) DO NOTHING`,
    values: [
      workspaceId,
      JSON.stringify(BY),
      files.map((file) => file.path),
      files.map((file) => file.sha),
      files.map((file) => file.size),
      files.map((file) => file.type),
    ],
  });
}
