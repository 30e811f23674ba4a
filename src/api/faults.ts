import { Refusal } from '../shared/refusal.js';

export interface Fault {
  /** `body.files.0.path`, `query.limit`, `path.id`. */
  readonly path: string;
  readonly message: string;
}

export const SENT_TWICE = 'sent more than once: send it once';

/** One refusal for all faults of a request: formats and lists the first `most`, and counts the others. */
export function refusalOf(faults: readonly (() => Fault)[], most: number): Refusal {
  const issues = faults.slice(0, most).map((name) => name());
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  return new Refusal('refused', `${issues[0]?.path}: ${issues[0]?.message}${more}`, { code: 'invalid', issues });
}
