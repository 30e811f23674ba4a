import type { Deps } from '../../deps.js';
import { checkPath, foldPath } from '../../format/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { endHolds, type HeldBlob, holdBlob, tryReleaseHolds } from '../../platform/storage/index.js';
import { newId } from '../../shared/ids.js';
import type { Attachment } from './mail.js';

const MAX_LENGTH = 120;

/** How many characters of a name are read: from its start, and from its end for the extension. */
const [BEGINNING, END] = [400, 100];

/** An attachment in the run's input. The file is read by its path. */
interface KeptAttachment {
  readonly [key: string]: string | number;
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly path: string;
}

interface KeptAttachments {
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

/** File names for one folder, in the given order: each is safe, and all differ even without case. */
export function attachmentNames(given: readonly string[]): readonly string[] {
  const taken = new Set<string>();
  return given.map((name, index) => {
    const plain = plainName(name) ?? `attachment-${index + 1}`;
    let free = plain;
    for (let n = 2; taken.has(foldPath(free)); n += 1) free = numbered(plain, n);
    taken.add(foldPath(free));
    return free;
  });
}

/** Removes folders, direction marks and characters that file systems reserve; null when nothing is left. */
function plainName(name: string): string | null {
  const whole = name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1);
  const last = (whole.length > BEGINNING + END ? whole.slice(0, BEGINNING) + whole.slice(-END) : whole).normalize(
    'NFC',
  );
  const plain = last
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .replace(/[%:*?"<>|]/g, '_')
    .replace(/^[\s.]+|[\s.]+$/g, '');
  const short = shorten(plain);
  return short !== '' && checkPath(short).ok ? short : null;
}

function shorten(name: string): string {
  if (Buffer.byteLength(name) <= MAX_LENGTH) return name;
  const end = /\.[A-Za-z0-9]{1,10}$/.exec(name)?.[0] ?? '';
  let kept = '';
  for (const sign of name) {
    if (Buffer.byteLength(kept + sign + end) > MAX_LENGTH) break;
    kept += sign;
  }
  return kept + end;
}

function numbered(name: string, n: number): string {
  const [, stem = name, end = ''] = /^(.+?)(\.[A-Za-z0-9]{1,10})?$/s.exec(name) ?? [];
  return `${stem}-${n}${end}`;
}
