import type { Deps } from '../deps.js';
import { isRecord } from '../shared/json.js';
import { atLeast, type Caller } from '../shared/roles.js';
import { deriveToken } from '../shared/tokens.js';

/** Filters a value for a caller: unchanged for editors and above, without the runs' release tokens for viewers. */
export type Show = <T>(value: T) => T;

/**
 * An agent with a release address repeats it in results and calls, and passes it to child runs. The address is a
 * credential that releases the run, so viewers must not see it.
 */
export function hideTokens(
  deps: Pick<Deps, 'keys'>,
  { role }: Pick<Caller, 'role'>,
  runIds: readonly (string | null)[],
): Show {
  if (atLeast(role, 'editor')) return (value) => value;
  const tokens = runIds.flatMap((id) => (id === null ? [] : [deriveToken(deps.keys.signing, 'event', [id])]));
  const hide = (text: string): string => tokens.reduce((shown, token) => shown.replaceAll(token, '…'), text);
  const show = (value: unknown): unknown => {
    if (typeof value === 'string') return hide(value);
    if (Array.isArray(value)) return value.map(show);
    if (!isRecord(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, show(entry)]));
  };
  return show as Show;
}
