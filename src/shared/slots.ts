import { Refusal } from './refusal.js';

/** So many at once; the others wait in line, and whoever finds the line full is told to come again. */
export interface Slots {
  /** Waits for a slot and answers how to give it back. Refuses `unavailable` when too many wait. */
  take(): Promise<() => void>;
}

export function createSlots(atOnce: number, waiting: number): Slots {
  const line: (() => void)[] = [];
  let free = atOnce;
  const give = (): void => {
    const next = line.shift();
    if (next) next();
    else free += 1;
  };
  const once = (): (() => void) => {
    let held = true;
    return () => {
      if (held) give();
      held = false;
    };
  };
  return {
    async take() {
      if (free > 0) free -= 1;
      else if (line.length >= waiting)
        throw new Refusal('unavailable', 'too many wait in line; try again in a moment', { retryAfter: 5 });
      else await new Promise<void>((resolve) => line.push(resolve));
      return once();
    },
  };
}
