import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRecord } from '../../shared/json.js';
import type { Bootstrapped } from './bootstrap-account.js';

/** Writes `<dataDir>/bootstrap.json` atomically, readable by its owner only. Returns its path. */
export async function writeBootstrapFile(
  dataDir: string,
  content: Bootstrapped & { readonly url: string },
): Promise<string> {
  return write(dataDir, { ...content });
}

/** Updates the URL: the port may differ from the first start, and readers of the file must find the running service. */
export async function renewBootstrapFile(dataDir: string, url: string): Promise<'missing' | 'damaged' | 'whole'> {
  const text = await readFile(join(dataDir, 'bootstrap.json'), 'utf8').catch(() => null);
  if (text === null) return 'missing';
  const content = parse(text);
  if (content === null) return 'damaged';
  if (content.url !== url) await write(dataDir, { ...content, url });
  return 'whole';
}

function parse(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const content: unknown = JSON.parse(text);
    return isRecord(content) ? content : null;
  } catch {
    return null;
  }
}

async function write(dataDir: string, { url, ...rest }: Readonly<Record<string, unknown>>): Promise<string> {
  const path = join(dataDir, 'bootstrap.json');
  const draft = `${path}.${process.pid}`;
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await writeFile(draft, `${JSON.stringify({ url, ...rest }, null, 2)}\n`, { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, path);
  return path;
}
