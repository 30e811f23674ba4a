import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';

/** Notifications cover every workspace, and the signing secret is the account's. */
export function requireFullAccess(caller: Caller): void {
  if (caller.workspaces === null) return;
  throw new Refusal('forbidden', 'notifications cover every workspace, and your access is limited to some', {
    need: 'every workspace',
  });
}
