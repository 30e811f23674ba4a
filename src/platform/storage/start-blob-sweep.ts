import type { Log } from '../../shared/log.js';
import { type Loops, startLoops } from '../../shared/repeat.js';
import { type BlobDeps, recordOrphans, sweepBlobs } from './held-blobs.js';

const HOUR_MS = 3_600_000;
/** Hours between two scans of the whole store. */
const SCAN_EVERY = 24;

/** Frees blobs without a row for a day, now and each hour; scans the store for stray blobs each day. */
export function startBlobSweep(deps: BlobDeps & { readonly log: Log }): Loops {
  let hours = 0;
  const sweep = async (signal: AbortSignal): Promise<void> => {
    const isScanDue = hours % SCAN_EVERY === 1;
    hours += 1;
    await sweepBlobs(deps, { signal });
    if (isScanDue) await recordOrphans(deps, signal);
  };
  return startLoops(deps.log, [{ name: 'blobs', everyMs: HOUR_MS, beginsNow: true, work: sweep }]);
}
