/**
 * Converts a provider's event to the shape that its SDK expects. Known fields keep their meaning in any harmless
 * variant; others are left out. One event may become several, or none when it has no content.
 */
export type Mender = (event: Readonly<Record<string, unknown>>) => readonly object[];
