import { auditSchedules } from '../../../triggers/index.js';
import type { Check } from '../check.js';

/**
 * Each live flow with a schedule has exactly one, in rows and in Temporal; each of its times has one outcome and at
 * most one run.
 */
export const schedules: Check = {
  remedy:
    'A worker’s loops repair this within ten minutes, except runs that were started twice and schedules that cannot be read. Deploy the flow of such a schedule with another cron line. Check that a worker is alive, run the doctor again, and report what stays.',
  async find({ deps, root }) {
    if (root !== null) return [];
    // Use the database's clock, which may differ from this machine's.
    const [clock] = await deps.db.query<{ ms: number }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
    );
    const faults = await auditSchedules(deps, clock?.ms ?? Date.now());
    return faults.map(({ workspace, flow, says }) => ({
      run: null,
      says: `Flow ${flow} of the workspace with the id ${workspace} ${says}.`,
    }));
  },
};
