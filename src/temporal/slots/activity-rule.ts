import type { SlotRule } from './slot-line.js';

const MOST = 100;
/** So many activities are taken however busy the process is. */
const ALWAYS = 4;
const FIRST_PACE = 8;
/** How late the event loop is where the process has enough of the CPU, and where it has too little. */
const CALM_MS = 250;
const STARVED_MS = 3_000;

export interface ActivityRule extends SlotRule {
  /** A look at how late the event loop is; call it at a steady rate. */
  look(lateMs: number): void;
}

/**
 * How many activities a worker takes. Most of them wait for models and cost nothing meanwhile, so it is not their
 * number that starves a process but how fast new ones come: their pace doubles while the event loop keeps up, and falls
 * to one a look, or none, when it is late. Those that are at work go on, and their heartbeats are in time.
 */
export function activityRule(): ActivityRule {
  let pace = FIRST_PACE;
  let left = pace;
  return {
    admits: (slots) => {
      if (slots.length >= MOST) return false;
      if (slots.length < ALWAYS) return true;
      if (left <= 0) return false;
      left -= 1;
      return true;
    },
    look: (lateMs) => {
      if (lateMs >= STARVED_MS) pace = 0;
      else if (lateMs >= CALM_MS) pace = 1;
      // What nobody asked for is not saved up: a burst begins slowly.
      else pace = left <= 0 ? Math.min(MOST, Math.max(FIRST_PACE, pace * 2)) : FIRST_PACE;
      left = pace;
    },
  };
}
