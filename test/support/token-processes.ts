import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll } from 'vitest';
import type { Deps } from '../../src/deps.js';
import type { Failpoint } from '../../src/shared/failpoint.js';
import { testDatabase } from './postgres.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const outfile = join(root, 'dist', `.token-test-${process.pid}.mjs`);

export interface TokenProcess {
  /** Lets it ask. What each call got: the token, or `failed: …`. Null when the process was killed. */
  ask(): Promise<readonly string[] | null>;
}

/** Processes of their own that ask for live tokens on the tests' database: see token-process.ts. */
export function useTokenProcesses() {
  beforeAll(async () => {
    const entry = join(root, 'test/support/token-process.ts');
    await build({ entryPoints: [entry], outfile, bundle: true, packages: 'external', platform: 'node', format: 'esm' });
  });
  afterAll(() => rmSync(outfile, { force: true }));

  return async function start(
    deps: Pick<Deps, 'keys'>,
    { id, count, failpoint = '' }: { id: string; count: number; failpoint?: Failpoint | '' },
  ): Promise<TokenProcess> {
    const key = Buffer.from(deps.keys.signing).toString('base64');
    const args = [outfile, testDatabase(), key, id, String(count), failpoint];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    await lines.next();
    return {
      async ask() {
        const exit = once(child, 'exit');
        child.stdin.write('go\n');
        const { value, done } = await lines.next();
        await exit;
        return done ? null : (JSON.parse(value) as string[]);
      },
    };
  };
}
