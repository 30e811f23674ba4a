import type { JsonObject } from '../shared/json.js';

/** A credential of the sender's in a header: `filter` may look at it, and it is kept nowhere. */
const SECRET_NAME = /authorization|(^|[_-])auth([_-]|$)|cookie|token|secret|password|credential|api.?key|signature/i;

export interface Arrived {
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

/** What conditions read as `trigger`: header names in lower case with `_`, and never the hook's own token. */
export function triggerData(kind: string, { headers, query }: Arrived, at: number): JsonObject {
  const { token: _, ...rest } = query;
  return {
    kind,
    at: new Date(at).toISOString(),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.replaceAll('-', '_'), value])),
    query: rest,
  };
}

/** As `triggerData` gave it, without what opens doors: this is what a run keeps and every viewer may read. */
export function withoutCredentials(trigger: JsonObject): JsonObject {
  const clean = (values: unknown) =>
    Object.fromEntries(Object.entries((values ?? {}) as JsonObject).filter(([name]) => !SECRET_NAME.test(name)));
  return { ...trigger, headers: clean(trigger.headers), query: clean(trigger.query) };
}
