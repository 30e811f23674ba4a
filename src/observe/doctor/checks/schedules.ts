import { findDrift } from '../../../schedules/index.js';
import type { Check } from '../check.js';

/** A schedule in Temporal for each live flow that fires and none else, at the moments that its cron line means. */
export const schedules: Check = {
  remedy: 'A worker’s loop makes it again within ten minutes: see that one lives, and look again then.',
  async find({ deps, root }) {
    if (root !== null) return [];
    const drift = await findDrift(deps, Date.now());
    return drift.map(({ workspace, flow, says }) => ({
      run: null,
      says: `Flow ${flow} of the workspace with the id ${workspace} ${says}.`,
    }));
  },
};
