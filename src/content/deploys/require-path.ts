import { pathFault } from '../../shared/path-fault.js';
import { Refusal } from '../../shared/refusal.js';

/** Refuses a path that is not canonical. */
export function requirePath(path: string): void {
  const fault = pathFault(path);
  if (fault !== null) throw new Refusal('refused', `the path ${fault}`, { code: 'file/bad-path' });
}
