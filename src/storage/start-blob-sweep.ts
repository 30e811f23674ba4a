import type { Log } from '../shared/log.js';
import { type BlobDeps, recordStrays, sweepBlobs } from './held-blobs.js';

const HOUR_MS = 3_600_000;
/** Hours between two scans of the whole store. */
const SCAN_EVERY = 24;

/** Each hour frees blobs without a row for a day; each day scans the store for stray blobs. Returns the stop function. */
export function startBlobSweep(deps: BlobDeps & { readonly log: Log }): () => void {
  let hours = 0;
  let isAtIt = false;
  const sweep = async (): Promise<void> => {
    if (isAtIt) return;
    isAtIt = true;
    try {
      await sweepBlobs(deps);
      if (hours % SCAN_EVERY === 1) await recordStrays(deps);
    } catch (err) {
      deps.log.warn({ err }, 'failed to free unreferenced blobs');
    }
    isAtIt = false;
  };
  const timer = setInterval(() => {
    hours += 1;
    void sweep();
  }, HOUR_MS);
  timer.unref();
  void sweep();
  return () => clearInterval(timer);
}
