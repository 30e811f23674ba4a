import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Sql } from '../../src/platform/db/contract.js';

/** A text that is nowhere else, in the forms in which a piece of it could stand in a longer one. */
export function formsOfPiece(piece: string): readonly string[] {
  const bytes = Buffer.from(piece);
  const base64 = [0, 1, 2].map((offset) => {
    const code = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    // What does not depend on the neighbours: the first group's begin and the last sign may be mixed with them.
    return code.slice(Math.ceil((offset * 8) / 6), -1);
  });
  return [piece, bytes.toString('hex'), bytes.toString('hex').toUpperCase(), ...base64];
}

/** The tables of the database in which a row holds one of the forms, in text, JSON or bytes. */
export async function tablesWith(db: Sql, forms: readonly string[]): Promise<string[]> {
  const tables = await db.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
  );
  const found: string[] = [];
  // A row's text shows bytes in hex.
  const all = [...forms, ...forms.map((form) => Buffer.from(form).toString('hex'))];
  for (const { name } of tables) {
    const rows = await db.query<{ row: string }>(
      `SELECT t::text AS row FROM "${name}" t WHERE EXISTS (SELECT 1 FROM unnest($1::text[]) f WHERE strpos(t::text, f) > 0)`,
      [all],
    );
    for (const { row } of rows) found.push(`${name}: ${row.slice(0, 300)}`);
  }
  return found;
}

/** Files under a folder whose name or bytes hold one of the forms. */
export async function filesWith(folder: string, forms: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const text = entry.isFile() ? await readFile(path, 'latin1') : '';
    const name = path.slice(folder.length);
    if (forms.some((form) => text.includes(form) || name.includes(form))) found.push(name);
  }
  return found;
}

/** A value as text, with every base64 in it decoded besides: what Temporal's payloads hold is base64. */
export function textOfHistory(history: unknown): string {
  const json = typeof history === 'string' ? history : JSON.stringify(history);
  const decoded = [...json.matchAll(/"data":\s*"([A-Za-z0-9+/=]+)"/g)].map(([, data = '']) =>
    Buffer.from(data, 'base64').toString(),
  );
  return [json, ...decoded].join('\n');
}
