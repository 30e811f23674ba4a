import { auditSecrets } from '../../../secrets/index.js';
import type { Check } from '../check.js';

/** Every secret belongs to an account and a vault that are there, and opens with the install keys that are there. */
export const secrets: Check = {
  remedy:
    'Put the install key back into SERVICE_KEYS, or store the secret anew; delete the row of one that belongs to nobody.',
  async find({ deps, root }) {
    if (root !== null) return [];
    return (await auditSecrets(deps.db, deps.keys)).map((says) => ({ run: null, says }));
  },
};
