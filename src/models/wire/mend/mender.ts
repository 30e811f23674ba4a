/**
 * Puts a provider's event into the shape that its SDK expects: known fields keep their meaning in whatever harmless
 * spelling they come, others are left out. One event may become several; none when it holds nothing of an answer.
 */
export type Mender = (event: Readonly<Record<string, unknown>>) => readonly object[];
