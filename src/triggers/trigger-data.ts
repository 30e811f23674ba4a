import type { JsonObject } from '../shared/json.js';

/** A credential of the sender's in a header: `filter` may look at it, and it is kept nowhere. */
const SECRET_NAME = /authorization|(^|[_-])auth([_-]|$)|cookie|token|secret|password|credential|api.?key|signature/i;

export interface Arrived {
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

/**
 * What conditions read as `trigger`: header names in lower case with `_`, and never the hook's own token, which proxies
 * repeat in headers that tell the address they were asked for.
 */
export function triggerData(kind: string, { headers, query }: Arrived, at: number): JsonObject {
  const { token = '', ...rest } = query;
  const hide = (value: string): string => (token === '' ? value : value.replaceAll(token, '…'));
  const shown = (values: Readonly<Record<string, string>>, named: (name: string) => string = (name) => name) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [named(name), hide(value)]));
  return {
    kind,
    at: new Date(at).toISOString(),
    headers: shown(headers, (name) => name.replaceAll('-', '_')),
    query: shown(rest),
  };
}

/** As `triggerData` gave it, without what opens doors: this is what a run keeps and every viewer may read. */
export function withoutCredentials(trigger: JsonObject): JsonObject {
  const clean = (values: unknown) =>
    Object.fromEntries(Object.entries((values ?? {}) as JsonObject).filter(([name]) => !SECRET_NAME.test(name)));
  return { ...trigger, headers: clean(trigger.headers), query: clean(trigger.query) };
}
