import type { Found } from './catalog.js';

const PLACEHOLDER = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** The names in `${…}` of the texts, each once. */
export function placeholdersIn(texts: Iterable<string>): string[] {
  const names = new Set<string>();
  for (const text of texts) for (const match of text.matchAll(PLACEHOLDER)) names.add(match[1] ?? '');
  return [...names].sort();
}

interface Connection {
  readonly url?: string;
  readonly base?: string;
  readonly command?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}

/** The texts of a tool or a server that may contain placeholders. */
export function secretTexts({ url, base, command, headers = {}, env = {}, args = [] }: Connection): string[] {
  const single = [url, base, command].filter((text) => text !== undefined);
  return [...single, ...Object.values(headers), ...Object.values(env), ...args];
}

export function toolSecrets({ model }: Found<'tool'>): string[] {
  const { args, url, base, command, headers, env } = model.keys.values;
  const list = args?.kind === 'list' ? args.values : [];
  const connection = { url, base, command, headers, env, args: list };
  const given = Object.fromEntries(Object.entries(connection).filter(([, value]) => value !== undefined));
  return placeholdersIn(secretTexts(given));
}
