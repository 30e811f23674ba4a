import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/platform/db/index.js';

test('security 1-5, 8: in a short storm of kills, pauses and restarts no run is lost, doubled or stuck, no recorded call or effect repeats, and the doctor finds nothing', {
  timeout: 600_000,
}, async () => {
  const args = [join(packageRoot, 'scripts/chaos.mjs'), '--seed', '7', '--runs', '30', '--minutes', '0.4'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  expect(out + err).toContain('nothing was lost, doubled or stuck');
  // A storm that struck nothing proves nothing.
  expect(out).toMatch(/[1-9]\d* × kill/);
  expect(code).toBe(0);
});
