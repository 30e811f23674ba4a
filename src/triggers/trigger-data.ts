import type { JsonObject } from '../shared/json.js';

/** Names of headers and query parameters with credentials: `filter` may read them, and they are never stored. */
const SECRET_NAME = /authorization|(^|[_-])auth([_-]|$)|cookie|token|secret|password|credential|api.?key|signature/i;

export interface Arrived {
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

/**
 * The data that conditions read as `trigger`: header names in lower case with `_`, without the hook's own token, which
 * proxies repeat in headers with the requested URL.
 */
export function triggerData(kind: string, { headers, query }: Arrived, at: number): JsonObject {
  const { token = '', ...parameters } = query;
  const hide = (value: string): string => (token === '' ? value : value.replaceAll(token, '…'));
  const shown = (values: Readonly<Record<string, string>>, named: (name: string) => string = (name) => name) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [named(name), hide(value)]));
  return {
    kind,
    at: new Date(at).toISOString(),
    headers: shown(headers, (name) => name.replaceAll('-', '_')),
    query: shown(parameters),
  };
}

/** The trigger data without credentials, as the run stores it and every viewer may read it. */
export function withoutCredentials(trigger: JsonObject): JsonObject {
  const clean = (values: unknown) =>
    Object.fromEntries(Object.entries((values ?? {}) as JsonObject).filter(([name]) => !SECRET_NAME.test(name)));
  return { ...trigger, headers: clean(trigger.headers), query: clean(trigger.query) };
}
