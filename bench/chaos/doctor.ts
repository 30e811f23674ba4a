import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { readEnvironment } from '../../src/platform/config/index.js';
import { distDir } from '../../src/platform/db/index.js';

/** The reaper and the reconciler have done their rounds by then. */
const PATIENCE_MS = 180_000;

/** The product's doctor, asked until it finds nothing or has been patient. Answers its code and its last output. */
export async function askDoctor(
  env: Readonly<Record<string, string>>,
): Promise<{ code: number | null; output: string }> {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await askOnce(env);
    if (answer.code === 0 || Date.now() > until) return answer;
    await wait(5_000);
  }
}

async function askOnce(env: Readonly<Record<string, string>>): Promise<{ code: number | null; output: string }> {
  const { PATH = '', HOME = '' } = readEnvironment();
  const child = spawn(process.execPath, [join(distDir, 'doctor.js')], {
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: code as number | null, output: out + err };
}
