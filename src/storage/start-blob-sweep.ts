import type { Log } from '../shared/log.js';
import { type BlobDeps, noteStrays, sweepBlobs } from './held-blobs.js';

const HOUR_MS = 3_600_000;
/** Hours between two looks through the whole store. */
const LOOK_EVERY = 24;

/** Each hour frees what no row has named for a day; each day looks for what nobody knew of. Answers how to end it. */
export function startBlobSweep(deps: BlobDeps & { readonly log: Log }): () => void {
  let hours = 0;
  let isAtIt = false;
  const sweep = async (): Promise<void> => {
    if (isAtIt) return;
    isAtIt = true;
    try {
      await sweepBlobs(deps);
      if (hours % LOOK_EVERY === 1) await noteStrays(deps);
    } catch (err) {
      deps.log.warn({ err }, 'blobs that no row names were not freed');
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
