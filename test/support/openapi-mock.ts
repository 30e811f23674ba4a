import { Ajv2020 } from 'ajv/dist/2020.js';
import type { LocalServer } from './local-server.js';

// biome-ignore lint/suspicious/noExplicitAny: a document is read here as loosely as its writer wrote it.
type Loose = any;

export interface Judged {
  readonly operation: string;
  /** What of the request the document does not say; empty when it fits. */
  readonly faults: readonly string[];
}

/**
 * Judges requests by a document, on its own: references, parameters, styles and bodies are read here once more, and by
 * nothing of the code that made the request. `prefix` is the path of the server's address.
 */
export function openapiJudge(document: Loose, prefix: string): (request: LocalServer['requests'][number]) => Judged {
  const ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    validateSchema: false,
    logger: false,
    inlineRefs: false,
  });
  ajv.addSchema({ ...document, $id: 'doc' });
  const deref = (value: Loose): Loose => {
    let at = value;
    while (at?.$ref) {
      at = at.$ref
        .slice(2)
        .split('/')
        .reduce(
          (node: Loose, key: string) => node?.[decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~')],
          document,
        );
    }
    return at;
  };
  const check = (schema: Loose, value: unknown, what: string): string[] => {
    const rebased = JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"doc#/'));
    const fits = ajv.compile(relaxed(rebased));
    return fits(value) ? [] : [`${what}: ${ajv.errorsText(fits.errors)} (${JSON.stringify(value)?.slice(0, 200)})`];
  };
  return ({ method, path, headers, body }) => {
    const url = new URL(path, 'http://mock');
    const found = match(document, method, url.pathname.slice(prefix.length));
    if (!found) return { operation: '', faults: [`no operation is ${method} ${path}`] };
    const { item, operation, values } = found;
    const faults: string[] = [];
    const parameters = new Map<string, Loose>();
    for (const one of [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(deref))
      parameters.set(`${one.in} ${one.name}`, one);
    const known = new Set<string>();
    for (const parameter of parameters.values()) {
      const raw = rawOf(parameter, deref, { url, headers, values, known });
      if (raw === undefined) {
        if (parameter.required && !/^(accept|content-type|authorization|idempotency-key)$/i.test(parameter.name))
          faults.push(`${parameter.in} ${parameter.name} is missing`);
        continue;
      }
      const schema = deref(parameter.schema ?? {});
      faults.push(...check(parameter.schema ?? {}, typed(raw, schema, deref), `${parameter.in} ${parameter.name}`));
    }
    for (const name of url.searchParams.keys())
      if (!known.has(name)) faults.push(`query ${name} is not of the document`);
    const content = deref(operation.requestBody)?.content ?? {};
    if (deref(operation.requestBody)?.required && body === '') faults.push('the body is missing');
    const type = (headers['content-type'] ?? '').split(';')[0] ?? '';
    if (body !== '' && !content[type] && !content[headers['content-type'] ?? ''])
      faults.push(`a body of ${type} is not of the document`);
    if (body !== '' && /json/.test(type) && content[type])
      faults.push(...check(content[type].schema ?? {}, JSON.parse(body), 'body'));
    if (body !== '' && type === 'application/x-www-form-urlencoded') {
      const schema = deref(content[type]?.schema ?? {});
      for (const name of new URLSearchParams(body).keys())
        if (!schema.properties?.[name]) faults.push(`field ${name} is not of the document`);
    }
    return { operation: operation.operationId ?? `${method} ${found.path}`, faults };
  };
}

/** Of several ways the answer may be any: the samples write the first. */
function relaxed(schema: Loose): Loose {
  return schema;
}

function match(document: Loose, method: string, path: string) {
  let best: { path: string; item: Loose; operation: Loose; values: Record<string, string>; score: number } | null =
    null;
  for (const [template, item] of Object.entries<Loose>(document.paths)) {
    const operation = item[method.toLowerCase()];
    if (!operation) continue;
    const names: string[] = [];
    const source = template.split(/(\{[^}]+\})/).map((part) => {
      if (!part.startsWith('{')) return part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
      names.push(part.slice(1, -1));
      return '([^/]+)';
    });
    const hit = new RegExp(`^${source.join('')}$`).exec(path);
    const score = template.split(/\{[^}]+\}/).join('').length;
    if (!hit || (best && best.score >= score)) continue;
    const values = Object.fromEntries(names.map((name, index) => [name, hit[index + 1] ?? '']));
    best = { path: template, item, operation, values, score };
  }
  return best;
}

interface Came {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly values: Readonly<Record<string, string>>;
  readonly known: Set<string>;
}

type Raw = string | readonly string[] | Readonly<Record<string, string>> | undefined;

/** What came for a parameter: one text, several, or pairs, as its style has it. */
function rawOf(parameter: Loose, deref: (value: Loose) => Loose, { url, headers, values, known }: Came): Raw {
  const { name, in: place, style, explode = place === 'query' || style === 'deepObject' } = parameter;
  const schema = deref(parameter.schema ?? {});
  if (place === 'path') return split(decodeURIComponent(values[name] ?? ''), schema);
  if (place === 'header') return headers[name.toLowerCase()] as string | undefined;
  if (place === 'cookie') return undefined;
  const query = url.searchParams;
  if (style === 'deepObject') {
    const pairs = [...query].filter(([key]) => key.startsWith(`${name}[`));
    for (const [key] of pairs) known.add(key);
    return pairs.length === 0
      ? undefined
      : Object.fromEntries(pairs.map(([key, value]) => [key.slice(name.length + 1, -1), value]));
  }
  if (schema.type === 'object' && explode && schema.properties) {
    const names = Object.keys(schema.properties).filter((key) => query.has(key));
    for (const key of names) known.add(key);
    return Object.fromEntries(names.map((key) => [key, query.get(key) ?? '']));
  }
  known.add(name);
  const all = query.getAll(name);
  if (all.length === 0) return undefined;
  if (schema.type === 'array')
    return explode
      ? all
      : (all[0] ?? '').split(style === 'pipeDelimited' ? '|' : style === 'spaceDelimited' ? ' ' : ',');
  return all[0];
}

function split(text: string, schema: Loose): Raw {
  return schema.type === 'array' ? text.split(',') : text;
}

/** Texts as the schema has them: an address has no numbers. */
function typed(raw: Exclude<Raw, undefined>, schema: Loose, deref: (value: Loose) => Loose): unknown {
  if (Array.isArray(raw)) return raw.map((one) => typed(one, deref(schema.items ?? {}), deref));
  if (typeof raw === 'object') {
    return Object.fromEntries(
      Object.entries(raw as Record<string, string>).map(([key, one]) => [
        key,
        typed(one, deref(schema.properties?.[key] ?? {}), deref),
      ]),
    );
  }
  const types = [schema.type, ...(schema.oneOf ?? schema.anyOf ?? []).map((one: Loose) => deref(one).type)].flat();
  if (types.includes('integer') || types.includes('number'))
    return /^-?\d+(\.\d+)?$/.test(raw as string) ? Number(raw) : raw;
  if (types.includes('boolean')) return raw === 'true' ? true : raw === 'false' ? false : raw;
  return raw;
}
