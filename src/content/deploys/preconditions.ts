import { Refusal } from '../../shared/refusal.js';

/** The caller's conditions on the current file: If-Match and If-None-Match of RFC 9110, by sha. */
export interface Precondition {
  /** One of these is the file's sha; `any` is any existing file. */
  readonly match?: 'any' | readonly string[] | undefined;
  /** The file must not exist. */
  readonly absent?: boolean | undefined;
}

/** Refuses `precondition_failed`, with the file's current sha, when a condition does not hold. */
export function checkPrecondition(path: string, current: string | null, { match, absent }: Precondition): void {
  const failed = (message: string): Refusal =>
    new Refusal('precondition_failed', message, { code: 'source/moved-on', sha: current });
  if (absent && current !== null) throw failed(`${path} exists already; read it, then change it with If-Match`);
  if (match === undefined) return;
  if (current === null) throw failed(`${path} no longer exists`);
  if (match !== 'any' && !match.includes(current)) throw failed(`${path} has changed since you read it; read it again`);
}
