import type { Issue } from '../../format/model.js';
import { Refusal } from '../../shared/refusal.js';

/** The refusal of a tree with errors, with all its issues; `what` names the tree in the message. */
export function refusedTree(what: string, issues: readonly Issue[], more: object = {}): Refusal {
  const errors = issues.filter(({ severity }) => severity === 'error');
  const [first] = errors;
  const where = first ? `: ${first.path}:${first.line}:${first.column} ${first.code} ${first.message}` : '';
  const count = errors.length === 1 ? 'one error' : `${errors.length} errors`;
  const details = { ok: false, applied: false, ...more, issues };
  return new Refusal('refused', `${what} has ${count}, so nothing was applied${where}`, details);
}
