import { z } from 'zod';
import type { ProviderKind } from '../contract.js';
import { readYaml } from '../read-yaml.js';
import type { ModelEntry } from './entry.js';
import { suggestion } from './suggestion.js';

const KINDS = [
  'openai-compatible',
  'openai',
  'anthropic',
  'google',
  'scripted',
] as const satisfies readonly ProviderKind[];

const Usd = z.number().min(0, 'is USD a million tokens, 0 or more');
const Entry = z
  .strictObject({
    provider: z.enum(KINDS, {
      error: ({ input }) => `is one of ${KINDS.join(', ')}.${suggestion(String(input), KINDS)}`,
    }),
    baseUrl: z
      .url({ protocol: /^https?$/, error: 'is an http or https URL' })
      .refine((url) => !/\/\/[^/]*@/.test(url), 'carries no credentials: name the variable of the key under `key`')
      .optional(),
    // Do not repeat the value in the message: it may be a key.
    key: z
      .string()
      .regex(/^[A-Z_][A-Z0-9_]*$/, 'is the NAME of the environment variable that holds the key, not the key')
      .optional(),
    model: z.string().min(1),
    contextTokens: z.int().min(512).optional(),
    priceIn: Usd.optional(),
    priceOut: Usd.optional(),
    priceCached: Usd.optional(),
    idleSeconds: z.int().min(1).max(290).optional(),
    totalSeconds: z.int().min(1).max(86_400).optional(),
  })
  .refine((entry) => entry.provider !== 'openai-compatible' || entry.baseUrl !== undefined, {
    path: ['baseUrl'],
    message: 'is needed for openai-compatible, such as http://127.0.0.1:11434/v1',
  })
  .refine((entry) => (entry.priceIn === undefined) === (entry.priceOut === undefined), {
    path: ['priceIn'],
    message: 'and priceOut come together: a model with half a price has none',
  });

const Names = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)], {
  error: 'is an alias or a list of them',
});
const OperatorFile = z.strictObject({
  default: Names.optional(),
  models: z.record(z.string().regex(/^[A-Za-z0-9][\w.-]*$/, 'an alias is letters, digits, `.`, `_` and `-`'), Entry),
});
type RawEntry = z.infer<typeof Entry>;

export interface OperatorModels {
  readonly entries: ReadonlyMap<string, OperatorEntry>;
  readonly default: readonly string[] | null;
}

/** An entry and the variable of its key, which may be unset. */
export interface OperatorEntry extends ModelEntry {
  readonly keyVariable: string | null;
}

/**
 * Reads `SERVICE_MODELS_FILE` (JSON is YAML too). Throws one Error that names every fault, each with its path: `{
 * default?: alias or list, models: { <alias>: { provider, model, baseUrl?, key?, contextTokens?, priceIn?, priceOut?,
 * priceCached?, idleSeconds?, totalSeconds? } } }`. `key` names an environment variable; prices are USD a million
 * tokens.
 */
export function parseOperatorFile(
  text: string,
  path: string,
  env: (name: string) => string | undefined,
): OperatorModels {
  const parsed = OperatorFile.safeParse(readYaml(text, path).value);
  const faults = parsed.success ? unknownDefaults(parsed.data) : parsed.error.issues.map(describe);
  if (!parsed.success || faults.length > 0) throw new Error(`${path} is not a valid models file: ${faults.join('; ')}`);
  const { models, default: names } = parsed.data;
  return {
    entries: new Map(Object.entries(models).map(([alias, raw]) => [alias, toEntry(alias, raw, env)])),
    default: names === undefined ? null : [names].flat(),
  };
}

function describe(issue: z.core.$ZodIssue): string {
  const at = issue.path.length === 0 ? 'the file' : issue.path.join('.');
  if (issue.code === 'unrecognized_keys') {
    const known = issue.path.length === 0 ? Object.keys(OperatorFile.shape) : Object.keys(Entry.shape);
    return issue.keys.map((key) => `${at} has no key \`${key}\`.${suggestion(key, known)}`).join('; ');
  }
  if (issue.code === 'invalid_key') return `${at}: ${issue.issues.map((inner) => inner.message).join(', ')}`;
  if (issue.code === 'invalid_type') return `${at} is missing or not of type ${issue.expected}`;
  return `${at} ${issue.message}`;
}

function unknownDefaults(file: z.infer<typeof OperatorFile>): string[] {
  const aliases = Object.keys(file.models);
  return [file.default ?? []]
    .flat()
    .filter((name) => !aliases.includes(name) && !name.includes('/'))
    .map((name) => `default names \`${name}\`, which is not under models.${suggestion(name, aliases)}`);
}

function toEntry(via: string, raw: RawEntry, env: (name: string) => string | undefined): OperatorEntry {
  const { priceIn, priceOut } = raw;
  return {
    via,
    provider: raw.provider,
    id: raw.model,
    baseUrl: raw.baseUrl ?? null,
    key: (raw.key === undefined ? undefined : env(raw.key)) ?? null,
    keyVariable: raw.key ?? null,
    contextTokens: raw.contextTokens ?? null,
    price:
      priceIn === undefined || priceOut === undefined
        ? null
        : { input: priceIn, output: priceOut, cached: raw.priceCached ?? priceIn },
    idleMs: raw.idleSeconds === undefined ? null : raw.idleSeconds * 1_000,
    totalMs: raw.totalSeconds === undefined ? null : raw.totalSeconds * 1_000,
  };
}
