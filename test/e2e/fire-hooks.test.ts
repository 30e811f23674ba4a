import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/platform/db/index.js';

test('security 1, 7, 10: 250 deliveries at the rate of 1,000 a minute, a fifth of them repeated, each start one run and each has its answer over a kill -9 of the API and of a worker; bursts and a schedule beside them are whole', {
  timeout: 600_000,
}, async () => {
  const args = [join(packageRoot, 'scripts/bench.mjs'), '--hooks', '--seconds', '15'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  expect(out + err).toContain('nothing was lost, doubled or stuck');
  expect(out).toContain('| deliveries | 250, of which 50 are sent again |');
  // Kills that nobody felt prove nothing.
  expect(out).toMatch(/killed with kill -9, and started again \| api, worker-1/);
  expect(out).toMatch(/requests without an answer, sent again \| [1-9]/);
  expect(code).toBe(0);
});
