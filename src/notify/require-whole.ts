import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';

/** Notifications tell of every workspace, and their secret signs for all. */
export function requireWhole(caller: Caller): void {
  if (caller.workspaces === null) return;
  throw new Refusal('forbidden', 'notifications tell of every workspace, and you are narrowed to some', {
    need: 'every workspace',
  });
}
