import type { Deps } from '../../deps.js';
import type { Sql } from '../../platform/db/contract.js';
import { endHolds, type HeldBlob, holdBlob, tryReleaseHolds } from '../../platform/storage/index.js';
import { newId } from '../../shared/ids.js';
import { attachmentNames } from './attachment-names.js';
import type { Attachment } from './mail.js';

/** An attachment in the run's input. The file is read by its path. */
export interface KeptAttachment {
  readonly [key: string]: string | number;
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly path: string;
}

export interface KeptAttachments {
  readonly list: readonly KeptAttachment[];
  /** Stores the bytes, before the transaction of the delivery, which must not wait for the store. */
  readonly store: () => Promise<void>;
  /** Adds the files to the workspace, in that transaction. */
  readonly keep: (sql: Sql, workspaceId: string) => Promise<void>;
  /** After the transaction: frees the bytes of a refused or duplicate mail. */
  readonly release: () => Promise<void>;
}

/** The files of a mail, each under `files/inbox/<a new id>/`, so that no mail writes over another's. */
export function attachmentsOf(deps: Deps, attachments: readonly Attachment[]): KeptAttachments {
  const folder = `files/inbox/${newId(deps.clock.now())}`;
  const names = attachmentNames(attachments.map(({ name }) => name));
  const files = attachments.map(({ type, content }, index) => {
    const name = names[index] ?? '';
    return { info: { name, type: plainType(type), size: content.byteLength, path: `${folder}/${name}` }, content };
  });
  const stored: (StoredFile & { readonly held: HeldBlob })[] = [];
  const holds = () => stored.map(({ held }) => held);
  return {
    list: files.map(({ info }) => info),
    store: async () => {
      for (const { info, content } of files) {
        const held = await holdBlob(deps, content);
        stored.push({ ...info, sha: held.sha, held });
      }
    },
    keep: async (sql, workspaceId) => {
      await indexFiles(sql, workspaceId, stored);
      await endHolds(sql, holds());
    },
    release: () => tryReleaseHolds(deps, holds()),
  };
}

/** The sender's media type is only displayed, never served; an invalid one becomes `application/octet-stream`. */
function plainType(type: string): string {
  const plain = type.split(';')[0]?.trim().toLowerCase() ?? '';
  return /^[a-z]+\/[a-z0-9.+-]{1,80}$/.test(plain) ? plain : 'application/octet-stream';
}

const BY = { kind: 'event', id: 'email', label: 'email' };

interface StoredFile {
  readonly path: string;
  readonly sha: string;
  readonly size: number;
  readonly type: string;
}

async function indexFiles(sql: Sql, workspaceId: string, files: readonly StoredFile[]): Promise<void> {
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
