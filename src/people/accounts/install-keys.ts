import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Config, type InstallKey, type InstallKeys, parseInstallKeys } from '../../platform/config/index.js';
import { newId } from '../../shared/ids.js';
import { errorMessage } from '../../shared/refusal.js';

/**
 * SERVICE_KEYS, else `<dataDir>/install-keys`, which only the first start creates: replacing an unreadable key would
 * silently void every link and lock every secret.
 */
export async function loadInstallKeys(config: Pick<Config, 'keys' | 'dataDir'>): Promise<InstallKeys> {
  const keys = config.keys ?? (await readOrMake(config.dataDir));
  return ringOf(keys);
}

/** Like `loadInstallKeys`, but creates none: null before the first start. For programs that change nothing. */
export async function findInstallKeys(config: Pick<Config, 'keys' | 'dataDir'>): Promise<InstallKeys | null> {
  const keys = config.keys ?? (await readKeys(join(config.dataDir, 'install-keys')));
  return keys && ringOf(keys);
}

function ringOf(keys: readonly InstallKey[]): InstallKeys {
  const [first] = keys;
  if (!first) throw new Error('there is no install key: set SERVICE_KEYS');
  return Object.freeze({
    signing: first.key,
    ring: Object.freeze([...keys]),
  });
}

async function readOrMake(dataDir: string): Promise<readonly InstallKey[]> {
  const path = join(dataDir, 'install-keys');
  return (await readKeys(path)) ?? parseFile(path, await make(dataDir, path));
}

async function readKeys(path: string): Promise<readonly InstallKey[] | null> {
  const text = await readIfThere(path);
  return text === null ? null : parseFile(path, text);
}

function parseFile(path: string, text: string): readonly InstallKey[] {
  const parsed = parseInstallKeys(text.trim().split(/\s+/).join(','));
  if (typeof parsed !== 'string') return parsed;
  throw new Error(
    `the install keys in ${path} are damaged (${parsed}): put the file back from a backup, or set SERVICE_KEYS; ` +
      'to give up every link and secret made so far, remove the file',
  );
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw new Error(`the install keys in ${path} cannot be read (${errorMessage(error)}): let this user read the file`);
  }
}

/** A hard link is created only when the name is free, so two concurrent first starts read the same key. */
async function make(dataDir: string, path: string): Promise<string> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const draft = `${path}.${newId()}`;
  await writeFile(draft, `k1:${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flush: true });
  try {
    await link(draft, path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return readFile(path, 'utf8');
}
