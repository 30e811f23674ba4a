import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';

/**
 * A client serves the connections of every workspace and decides where their codes are sent. A caller with access to some
 * workspaces could redirect the codes of the others.
 */
export function requireEveryWorkspace({ workspaces }: Caller): void {
  if (workspaces === null) return;
  throw new Refusal(
    'forbidden',
    'every workspace uses an OAuth client, and your access is limited to some workspaces',
    {
      need: 'every workspace',
    },
  );
}
