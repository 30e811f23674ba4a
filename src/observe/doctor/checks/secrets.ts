import { auditSecrets } from '../../../secrets/index.js';
import type { Check } from '../check.js';

/** Every secret belongs to an existing account and vault, and can be decrypted with the present install keys. */
export const secrets: Check = {
  remedy:
    'Put the install key back into SERVICE_KEYS, or store the secret again; delete the row of a secret without an owner.',
  async find({ deps, root }) {
    if (root !== null) return [];
    return (await auditSecrets(deps.db, deps.keys)).map((says) => ({ run: null, says }));
  },
};
