import { expect } from 'vitest';

type Act = () => unknown;

/** Below this the clock of the CPU and the collector of garbage say more than the work does. */
const LEAST_MS = 25;
const TRIES = 5;
/** So many times too much is no noise. */
const BEYOND_DOUBT = 4;

/** Work that other work is measured by. */
export interface CpuUnit {
  /** CPU ms of it, as measured last; `again` measures anew. */
  cpuMs(again: boolean): Promise<number>;
}

/** Work to measure by: an ordinary case, or the same work at a smaller size. What it takes is measured when it is needed. */
export function cpuUnit(act: Act): CpuUnit {
  let last: number | undefined;
  return {
    async cpuMs(again) {
      // Its first run compiles what it calls: that is no part of it.
      if (last === undefined) await act();
      if (last === undefined || again) last = await cpuMsOf(act);
      return last;
    },
  };
}

/**
 * Fails when `act` takes more than `atMost` times the CPU of the unit, in this process and side by side with it: how
 * fast or how busy the machine is, is in both. One that exceeds is measured again with its unit, and the least counts.
 * The fault a test is for must cost many times `atMost`, so that neither hides the other.
 */
export async function expectCpu(act: Act, { atMost, unit }: { atMost: number; unit: CpuUnit }): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < TRIES && least > atMost; tries += 1) {
    const one = await unit.cpuMs(tries > 0);
    least = Math.min(least, (await cpuMsOf(act)) / one);
    if (least > atMost * BEYOND_DOUBT) break;
  }
  expect(least, 'times the CPU of its unit').toBeLessThanOrEqual(atMost);
}

/** CPU ms of one `act`, done as often as it takes to be measured. */
async function cpuMsOf(act: Act): Promise<number> {
  const before = process.cpuUsage();
  for (let times = 1; ; times += 1) {
    await act();
    const { user, system } = process.cpuUsage(before);
    const ms = (user + system) / 1_000;
    if (ms >= LEAST_MS) return ms / times;
  }
}
