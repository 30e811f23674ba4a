import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Finding } from '../../src/observe/index.js';
import { readEnvironment } from '../../src/platform/config/index.js';
import { distDir } from '../../src/platform/db/index.js';

/** The built doctor as `npm run doctor` runs it. Without findings to read, what it said instead. */
export async function runDoctor(
  env: Readonly<Record<string, string>>,
): Promise<{ code: number | null; findings: readonly Finding[] } | { code: number | null; said: string }> {
  const { PATH = '', HOME = '' } = readEnvironment();
  const child = spawn(process.execPath, [join(distDir, 'doctor.js'), '--json'], {
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, said, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  if (code === 0 || code === 1) return { code, findings: (JSON.parse(out) as { findings: Finding[] }).findings };
  return { code: code as number | null, said };
}
