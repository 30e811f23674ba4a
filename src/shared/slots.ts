import { Refusal } from './refusal.js';

/** A semaphore with a bounded queue. When the queue is full, the caller is refused and may retry. */
export interface Slots {
  /** Waits for a slot and returns its release function. Refuses `unavailable` when the queue is full. */
  take(): Promise<() => void>;
  /** How many wait. */
  waiting(): number;
}

export function createSlots(atOnce: number, waiting: number): Slots {
  const line: (() => void)[] = [];
  let free = atOnce;
  const release = (): void => {
    const next = line.shift();
    if (next) next();
    else free += 1;
  };
  const releaseOnce = (): (() => void) => {
    let held = true;
    return () => {
      if (held) release();
      held = false;
    };
  };
  return {
    async take() {
      if (free > 0) free -= 1;
      else if (line.length >= waiting)
        throw new Refusal('unavailable', 'too many requests are waiting; try again in a moment', { retryAfter: 5 });
      else await new Promise<void>((resolve) => line.push(resolve));
      return releaseOnce();
    },
    waiting: () => line.length,
  };
}

/** Slots with a limit per key, and a queue per key. */
export interface SharedSlots {
  /** As `Slots.take`, for one key. */
  take(key: string): Promise<() => void>;
  /** How many wait for what this key holds. */
  waiting(key: string): number;
}

export function createSharedSlots(slots: Slots, atOnce: number, waiting: number): SharedSlots {
  const lines = new Map<string, { readonly own: Slots; users: number }>();
  return {
    async take(key) {
      const line = lines.get(key) ?? { own: createSlots(atOnce, waiting), users: 0 };
      lines.set(key, line);
      line.users += 1;
      const leave = (): void => {
        line.users -= 1;
        if (line.users === 0) lines.delete(key);
      };
      const undos: (() => void)[] = [leave];
      let held = true;
      const release = (): void => {
        if (held) for (const undo of undos.toReversed()) undo();
        held = false;
      };
      try {
        undos.push(await line.own.take());
        undos.push(await slots.take());
        return release;
      } catch (error) {
        release();
        throw error;
      }
    },
    waiting: (key) => slots.waiting() + (lines.get(key)?.own.waiting() ?? 0),
  };
}
