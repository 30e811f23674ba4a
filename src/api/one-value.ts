import { Refusal } from '../shared/refusal.js';

/** What a request says in its query, in its body, or the same in both. Refuses two that differ. */
export function oneValue<T extends string | number>(
  key: string,
  asked: T | undefined,
  sent: T | undefined,
): T | undefined {
  if (asked !== undefined && sent !== undefined && asked !== sent)
    throw new Refusal('refused', `body.${key}: it is ${sent}, and ${asked} in the query; give one`, {
      code: 'invalid',
    });
  return sent ?? asked;
}
