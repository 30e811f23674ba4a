import { expect, test } from 'vitest';
import { BlockMeter } from '../../src/platform/db/block-meter.js';

const LOOK_MS = 250;

interface Part {
  /** So many looks. */
  readonly looks: number;
  /** The share of a core that the thread uses. */
  readonly share: number;
  /** Whether its event loop turns meanwhile. */
  readonly turns?: boolean;
  /** The time between two looks. */
  readonly everyMs?: number;
}

/** When the blocks began that the meter found in these parts of a life, and when it found them, in ms. */
function blocksIn(parts: readonly Part[]): { readonly from: number; readonly found: number }[] {
  const meter = new BlockMeter({ silentMs: 8_000, cpuMs: 1_000 });
  let [now, beats, cpuMs] = [1_000, 0, 500];
  meter.sample({ now, beats, cpuMs });
  const blocks: { from: number; found: number }[] = [];
  for (const { looks, share, turns = false, everyMs = LOOK_MS } of parts) {
    for (let sample = 0; sample < looks; sample += 1) {
      now += everyMs;
      cpuMs += everyMs * share;
      if (turns) beats += 1;
      const from = meter.sample({ now, beats, cpuMs });
      if (from !== null) blocks.push({ from: from - 1_000, found: now - 1_000 });
    }
  }
  return blocks;
}

test.each<[string, readonly Part[], readonly { readonly from: number; readonly found: number }[]]>([
  ['a loop that computes', [{ looks: 100, share: 1 }], [{ from: 0, found: 8_000 }]],
  [
    '7.75 s that the worker survives',
    [
      { looks: 31, share: 1 },
      { looks: 40, share: 1, turns: true },
    ],
    [],
  ],
  [
    '4 s of parsing',
    [
      { looks: 16, share: 1 },
      { looks: 1, share: 1, turns: true },
      { looks: 16, share: 1 },
    ],
    [],
  ],
  ['a loop that gets a quarter of a core', [{ looks: 100, share: 0.25 }], [{ from: 0, found: 8_000 }]],
  ['a loop that gets a twentieth of a core', [{ looks: 100, share: 0.05 }], [{ from: 0, found: 20_000 }]],
  ['a thread that sleeps in a system call', [{ looks: 400, share: 0 }], []],
  ['a busy thread that handles events', [{ looks: 400, share: 1, turns: true }], []],
  [
    'two blocks with a turn between them',
    [
      { looks: 40, share: 1 },
      { looks: 1, share: 1, turns: true },
      { looks: 40, share: 1 },
    ],
    [
      { from: 0, found: 8_000 },
      { from: 10_250, found: 18_250 },
    ],
  ],
  [
    'a process that was stopped for an hour in the middle of 4 s of parsing',
    [
      { looks: 8, share: 1 },
      { looks: 1, share: 0, everyMs: 3_600_000 },
      { looks: 8, share: 1 },
      { looks: 4, share: 1, turns: true },
    ],
    [],
  ],
])('%s', (_name, parts, blocks) => {
  expect(blocksIn(parts)).toEqual(blocks);
});
