import { KEPT_MS, orphanBlobs } from '../../../platform/storage/index.js';
import type { Check, Fault } from '../check.js';

/** The number of blobs that are named; the others are counted. */
const NAMED = 100;

/** The blob store has no unreferenced content, except what the sweep has yet to free. */
export const blobs: Check = {
  remedy:
    'They only take up space. The API process frees them by its hourly sweep, within two days: check that one runs, and what it logs about blobs.',
  async find({ deps, root }) {
    if (root !== null) return [];
    // The sweep frees content within a day; allow one more.
    const late = await deps.db.query<{ sha: string }>(
      `SELECT sha FROM loose_blob WHERE at < now() - $1 * interval '1 ms'
        UNION SELECT sha FROM blob_hold WHERE at < now() - $1 * interval '1 ms' ORDER BY sha`,
      [2 * KEPT_MS],
    );
    const says = late.map(({ sha }) => `The blob ${sha} is named by no row, and was not freed for two days.`);
    for await (const sha of orphanBlobs(deps))
      says.push(`The blob ${sha} is named by no row, and no sweep knows of it.`);
    const faults: Fault[] = says.slice(0, NAMED).map((text) => ({ run: null, says: text }));
    if (says.length > NAMED) faults.push({ run: null, says: `And ${says.length - NAMED} blobs more.` });
    return faults;
  },
};
