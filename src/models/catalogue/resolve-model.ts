import { Refusal } from '../../shared/refusal.js';
import type { ResolvedModel } from '../contract.js';
import { isProviderKind, PROVIDERS } from '../providers/index.js';
import { type Catalogue, directEntry } from './catalogue.js';
import type { ModelEntry } from './entry.js';
import type { OperatorEntry } from './operator-file.js';
import { suggestion } from './suggestion.js';
import { toResolved } from './to-resolved.js';

const KEYS = 'OPENAI_API_KEY, ANTHROPIC_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY';

type Aliases = Readonly<Record<string, readonly string[]>>;

/**
 * The models to try for a name, in order: the workspace's alias, the operator's, `<provider>/<model>`. Without a name,
 * the default: the workspace's alias `default`, the operator's default, the model of `SERVICE_LLM_MODEL`. That model
 * also serves every name while nothing else is configured. The scripted provider is used only by name. Throws a Refusal
 * `refused` that says what to set.
 */
export function resolveModel(catalogue: Catalogue, name: string | null, aliases: Aliases): readonly ResolvedModel[] {
  const entries =
    name === null
      ? defaultEntries(catalogue, aliases)
      : find(catalogue, name, { aliases, within: [], done: new Set() });
  const known = new Map(entries.map((entry) => [entry.via, entry]));
  return [...known.values()].map((entry) => toResolved(name ?? entry.via, entry));
}

function defaultEntries(catalogue: Catalogue, aliases: Aliases): readonly ModelEntry[] {
  if (Object.hasOwn(aliases, 'default')) return find(catalogue, 'default', { aliases, within: [], done: new Set() });
  const { operator, single } = catalogue;
  if (operator?.default)
    return operator.default.flatMap((name) => find(catalogue, name, { aliases: {}, within: [], done: new Set() }));
  if (single) return [single];
  throw isEmpty(catalogue) ? noModel(null) : noDefault();
}

interface Search {
  readonly aliases: Aliases;
  /** The workspace's aliases on the current path: inside an alias its own name means the operator's alias. */
  readonly within: readonly string[];
  /** Aliases that are fully resolved. */
  readonly done: Set<string>;
}

function find(catalogue: Catalogue, name: string, { aliases, within, done }: Search): readonly ModelEntry[] {
  const named = Object.hasOwn(aliases, name) && !within.includes(name) ? aliases[name] : undefined;
  if (named && named.length > 0) {
    // A second visit would lead to the same models, and aliases that name each other twice would expand to 2^n paths.
    if (done.has(name)) return [];
    const found = named.flatMap((next) => find(catalogue, next, { aliases, within: [...within, name], done }));
    done.add(name);
    return found;
  }
  const entry = catalogue.operator?.entries.get(name) ?? directEntry(catalogue, name);
  if (entry && isUsable(entry)) return [entry];
  // With only SERVICE_LLM_MODEL set, a workspace written for other models runs on it.
  if (catalogue.operator === null && catalogue.single) return [catalogue.single];
  if (entry) throw keyMissing(name, variableOf(entry));
  throw isEmpty(catalogue) ? noModel(name) : unknownModel(name, Object.keys(aliases), catalogue);
}

function isEmpty({ operator, single, apiKeys }: Catalogue): boolean {
  return operator === null && single === null && Object.values(apiKeys).every((key) => !key);
}

/** A compatible endpoint may need no key, unless the operator named one. */
function isUsable(entry: ModelEntry | OperatorEntry): boolean {
  return entry.key !== null || variableOf(entry) === '';
}

function variableOf(entry: ModelEntry | OperatorEntry): string {
  const named = 'keyVariable' in entry ? entry.keyVariable : null;
  return named ?? PROVIDERS[entry.provider].keyVariable ?? '';
}

/** No model is configured, or none that could be a default. Says what to set. */
function noModel(name: string | null): Refusal {
  const what = name === null ? 'no model is configured' : `no model is configured, so \`${name}\` cannot run`;
  return new Refusal(
    'refused',
    `${what}: set SERVICE_LLM_MODEL, SERVICE_LLM_BASE_URL and SERVICE_LLM_API_KEY for one model for everything, ` +
      `SERVICE_MODELS_FILE for several, or ${KEYS} and name models as \`<provider>/<model>\`. ` +
      '`model: scripted/demo` runs without a model, on the turns of the agent’s script.yaml',
    { code: 'ref/model' },
  );
}

/** Models are configured, but no default. */
function noDefault(): Refusal {
  return new Refusal(
    'refused',
    'no default model is configured: set `default:` in SERVICE_MODELS_FILE or `models: { default: … }` in AGENTS.md, ' +
      'or name a `model:` in the agent or the step',
    { code: 'ref/model' },
  );
}

function keyMissing(name: string, variable: string): Refusal {
  return new Refusal(
    'refused',
    `model ${name} needs ${variable}; set it, or name another model in the agent’s \`model:\` or under \`models:\` in AGENTS.md`,
    { code: 'ref/model' },
  );
}

/** The name is neither an alias nor a `<provider>/<model>` of a known provider. */
function unknownModel(name: string, aliases: readonly string[], catalogue: Catalogue): Refusal {
  return new Refusal('refused', `model \`${name}\` ${whyUnknown(name, [...aliases, ...operatorAliases(catalogue)])}`, {
    code: 'ref/model',
  });
}

function whyUnknown(name: string, aliases: readonly string[]): string {
  const [kind = ''] = name.split('/');
  const kinds = Object.keys(PROVIDERS);
  if (kind === 'openai-compatible') return 'needs a base URL: give it an alias in SERVICE_MODELS_FILE';
  if (isProviderKind(kind)) return `names no model: write \`${kind}/<model>\``;
  if (name.includes('/')) return `is of an unknown provider: known are ${kinds.join(', ')}.${suggestion(kind, kinds)}`;
  const known = aliases.length === 0 ? 'there are no aliases' : `aliases are ${aliases.join(', ')}`;
  return `is unknown: ${known}; any other model is named \`<provider>/<model>\`.${suggestion(name, aliases)}`;
}

function operatorAliases({ operator }: Catalogue): string[] {
  return [...(operator?.entries.keys() ?? [])];
}
