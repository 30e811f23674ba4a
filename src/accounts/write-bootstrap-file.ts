import { chmod, mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bootstrapped } from './bootstrap-account.js';

/** Writes `<dataDir>/bootstrap.json`, readable by its owner only, whole or not at all. Answers its path. */
export async function writeBootstrapFile(
  dataDir: string,
  content: Bootstrapped & { readonly url: string },
): Promise<string> {
  const path = join(dataDir, 'bootstrap.json');
  const draft = `${path}.${process.pid}`;
  await mkdir(dataDir, { recursive: true });
  const { url, ...rest } = content;
  await writeFile(draft, `${JSON.stringify({ url, ...rest }, null, 2)}\n`, { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, path);
  return path;
}
