import type { SlotRule } from './slot-line.js';

const MOST = 100;
/** This many activities are accepted, however busy the process is. */
const ALWAYS = 4;
const FIRST_PACE = 8;
/** Delay of the event loop below which the process has enough CPU; from `STARVED_MS` on it has too little. */
const CALM_MS = 250;
const STARVED_MS = 3_000;

export interface ActivityRule extends SlotRule {
  /** Reports the event loop's delay. Call it at a steady rate. */
  look(lateMs: number): void;
}

/**
 * How many activities a worker accepts. Most of them wait for models and need no CPU, so a process is starved by the
 * rate of new ones and not by their number. The rate doubles while the event loop keeps up. It falls to one per look,
 * or none, when the event loop is late. Active ones continue, with heartbeats in time.
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
      // Unused permits are not saved up: a burst begins slowly.
      else pace = left <= 0 ? Math.min(MOST, Math.max(FIRST_PACE, pace * 2)) : FIRST_PACE;
      left = pace;
    },
  };
}
