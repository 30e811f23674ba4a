import { Refusal } from '../shared/refusal.js';

/** A value from the query or the body. Refuses two different values. */
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
