import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';

/**
 * A client serves the connections of every workspace, and says where their codes are sent: who is narrowed to some
 * could bring those of the others to an address of their own.
 */
export function requireEveryWorkspace({ workspaces }: Caller): void {
  if (workspaces === null) return;
  throw new Refusal('forbidden', 'every workspace uses an OAuth client, and you are narrowed to some', {
    need: 'every workspace',
  });
}
