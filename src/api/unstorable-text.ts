import { isRecord } from '../shared/json.js';

/**
 * True for a text that Postgres cannot store: NUL (22021; 22P05 in JSON) or half a surrogate pair in JSON (22P02).
 * Prisma wraps the driver's error, so the causes are checked too.
 */
export function isUnstorableText(error: unknown): boolean {
  let entry = error;
  for (let depth = 0; depth < 5 && isRecord(entry); depth += 1) {
    const { code, originalCode, detail, cause } = entry;
    if ([code, originalCode].some((state) => state === '22021' || state === '22P05')) return true;
    if (code === '22P02' && typeof detail === 'string' && /surrogate/i.test(detail)) return true;
    entry = cause;
  }
  return false;
}
