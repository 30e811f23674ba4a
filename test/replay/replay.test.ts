import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import { expect, test } from 'vitest';
import { distDir } from '../../src/platform/db/index.js';
import { installRuntime } from '../../src/platform/temporal/index.js';
import { silentLog } from '../support/silent-log.js';

const folder = join(import.meta.dirname, 'histories');
const histories = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.json'));

await installRuntime(silentLog);

// Each file is a run recorded by an older build. A failure here means that deploying this change would break
// runs that are parked in production right now: guard the new order with patched('yyyy-mm-slug').
test.each(histories)('security 6: %s still replays', async (name) => {
  const history: unknown = JSON.parse(readFileSync(join(folder, name), 'utf8'));
  const workflowBundle = { codePath: join(distDir, 'workflows.js') };
  await expect(Worker.runReplayHistory({ workflowBundle }, history)).resolves.toBeUndefined();
});

test('there is a history of every feature', () => {
  const features = [
    'steps',
    'gate',
    'gate-timeout',
    'event',
    'timer',
    'group',
    'any',
    'each',
    'subflow',
    'retry',
    'failed',
    'stopped',
    'nested',
    'each-subflow',
    'each-retry',
    'event-timeout',
    'remind',
    'long',
    'long-2',
    'stopped-event',
    'stopped-timer',
    'stopped-later',
    'stopped-fork',
    'stopped-subflow',
    'stopped-work',
    'carried',
    'rerun',
    'slots',
    'votes',
    'timeout-back',
    'reject-back',
    'escalate',
    'edit',
    'form',
    'ask-human',
    'approve-call',
    'flow-timeout',
    'when',
    'until',
    'on-fail',
    'group-failed',
  ];
  const recorded = new Set(histories.map((name) => name.replace(/^.*\//, '').replace('.json', '')));
  expect(features.filter((feature) => !recorded.has(feature))).toEqual([]);
});
