import type { Stats } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRecord } from '../../shared/json.js';

/** The stored version of a lane file, and its state at that time, so that unchanged files are not read again. */
export interface KeptEntry {
  readonly sha: string;
  readonly size: number;
  /** The change time: unlike the modification time a program cannot set it. */
  readonly ctimeMs: number;
}

export type KeptState = Map<string, KeptEntry>;

const NAME = 'kept.json';

export async function readKept(root: string): Promise<KeptState> {
  const text = await readFile(join(root, NAME), 'utf8').catch(() => '{}');
  const value: unknown = JSON.parse(text);
  return new Map(isRecord(value) ? (Object.entries(value) as [string, KeptEntry][]) : []);
}

export async function writeKept(root: string, kept: KeptState): Promise<void> {
  const temporary = join(root, `${NAME}.new`);
  await writeFile(temporary, JSON.stringify(Object.fromEntries(kept)));
  await rename(temporary, join(root, NAME));
}

export function isUnchanged(entry: KeptEntry | undefined, stat: Stats): boolean {
  return entry !== undefined && entry.size === stat.size && entry.ctimeMs === stat.ctimeMs;
}
