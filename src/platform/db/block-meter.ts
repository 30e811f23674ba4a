/** What proves a block. */
export interface BlockLimits {
  /** So long without a turn of the event loop, in ms. */
  readonly silentMs: number;
  /** CPU time that the thread used meanwhile, in ms. */
  readonly cpuMs: number;
}

/** A sample that comes later shows that the whole process was stopped, so the rest of the gap proves nothing. */
const LONGEST_GAP_MS = 1_000;

interface Sample {
  readonly now: number;
  readonly beats: number;
  readonly cpuMs: number;
}

/** Finds the blocks of a thread in its beats, which are one for each turn of its event loop, and its CPU time. */
export class BlockMeter {
  #beats = -1;
  #from = 0;
  #cpuMs = 0;
  #silentMs = 0;
  #lastSample = 0;
  #isFound = false;

  constructor(private readonly limits: BlockLimits) {}

  /** When the block began that this sample proves; null for no block and for one that an earlier sample found. */
  sample({ now, beats, cpuMs }: Sample): number | null {
    if (beats !== this.#beats) {
      this.#beats = beats;
      this.#from = now;
      this.#cpuMs = cpuMs;
      this.#silentMs = 0;
      this.#isFound = false;
    } else {
      this.#silentMs += Math.min(now - this.#lastSample, LONGEST_GAP_MS);
    }
    this.#lastSample = now;
    if (this.#isFound || this.#silentMs < this.limits.silentMs || cpuMs - this.#cpuMs < this.limits.cpuMs) return null;
    this.#isFound = true;
    return this.#from;
  }
}
