import { Refusal } from '../../shared/refusal.js';
import { isProviderKind, PROVIDERS } from '../providers/index.js';
import type { Catalogue } from './catalogue.js';
import { suggestion } from './suggestion.js';

const KEYS = 'OPENAI_API_KEY, ANTHROPIC_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY';

/** No model is configured, or none that could be a default. Says what to set. */
export function noModel(name: string | null): Refusal {
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
export function noDefault(): Refusal {
  return new Refusal(
    'refused',
    'no default model is configured: set `default:` in SERVICE_MODELS_FILE or `models: { default: … }` in AGENTS.md, ' +
      'or name a `model:` in the agent or the step',
    { code: 'ref/model' },
  );
}

export function keyMissing(name: string, variable: string): Refusal {
  return new Refusal(
    'refused',
    `model ${name} needs ${variable}; set it, or name another model in the agent’s \`model:\` or under \`models:\` in AGENTS.md`,
    { code: 'ref/model' },
  );
}

/** The name is neither an alias nor a `<provider>/<model>` of a known provider. */
export function unknownModel(name: string, aliases: readonly string[], catalogue: Catalogue): Refusal {
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
