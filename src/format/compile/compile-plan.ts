import type { JsonObject } from '../../shared/json.js';
import type { AgentPlan, Plan, StepPlan } from '../model.js';
import { type ReadFlow, stepsOf } from '../parse/flow-model.js';
import { TRIGGER_KEYS } from '../parse/keys/flow-keys.js';
import type { Catalog, Found } from '../resolve/catalog.js';
import { agentsReachedFrom } from '../resolve/reach.js';
import { compileNode } from './compile-step.js';
import { defined } from './defined.js';

/** Compiles the plan that a flow's runs are pinned to. */
export function compileFlow(catalog: Catalog, { model, source: _ }: Found<'flow'>, agents: AgentPlans): Plan {
  const { values } = model.keys;
  const steps = stepsOf(model.nodes);
  return {
    ...common(catalog),
    flow: model.name,
    description: values.description ?? '',
    brief: model.brief.pieces,
    nodes: model.nodes.map(compileNode),
    steps: steps.length,
    enabled: values.enabled ?? true,
    triggers: values.trigger ?? ['manual'],
    trigger: triggerOf(model),
    onBudget: values.on_budget ?? 'stop',
    secrets: values.secrets?.map(({ name }) => name) ?? [],
    tags: values.tags ?? [],
    agents: pick(
      agents,
      agentsReachedFrom(
        catalog,
        steps.flatMap(({ agent }) => agent?.name ?? []),
      ),
    ),
    ...defined({
      input: values.input,
      budgetUsd: values.budget,
      timeoutMs: values.timeout,
      concurrency: concurrencyOf(model),
      notify: values.notify,
    }),
  };
}

/** Compiles the plan of an agent that is run alone: one step with the task as its instruction. */
export function compileAgentRun(catalog: Catalog, { model }: Found<'agent'>, agents: AgentPlans): Plan {
  const { name, keys } = model;
  const step: StepPlan = {
    kind: 'step',
    n: 1,
    id: stepIdOf(name),
    title: name,
    agent: name,
    instruction: [{ kind: 'value', path: 'input' }],
    output: 'text',
    onFail: 'stop',
    secrets: [],
  };
  return {
    ...common(catalog),
    flow: `agents/${name}`,
    description: keys.values.description ?? '',
    brief: [],
    nodes: [step],
    steps: 1,
    enabled: true,
    triggers: ['manual'],
    trigger: {},
    onBudget: 'stop',
    secrets: [],
    tags: [],
    agents: pick(agents, agentsReachedFrom(catalog, [name])),
  };
}

export type AgentPlans = ReadonlyMap<string, AgentPlan>;

function stepIdOf(name: string): string {
  const id = name.replaceAll('-', '_');
  return /^[0-9]/.test(id) ? `step_${id}` : id;
}

function pick(agents: AgentPlans, names: Iterable<string>): Plan['agents'] {
  return Object.fromEntries(
    [...names].sort().flatMap((name) => {
      const plan = agents.get(name);
      return plan ? [[name, plan] as const] : [];
    }),
  );
}

function common({ defaults }: Catalog): Pick<Plan, 'version' | 'workspace'> {
  const values = defaults?.model.keys.values ?? {};
  return {
    version: 1,
    workspace: {
      instructions: defaults?.model.instructions.pieces ?? [],
      models: values.models ?? {},
      network: values.network ?? [],
      runtime: values.runtime ?? {},
      ...defined({ timezone: values.timezone, budgetUsd: values.budget, notify: values.notify }),
    },
  };
}

/** The trigger's settings under the names of the file, except that `debounce` becomes `debounce_ms`. */
function triggerOf({ keys }: ReadFlow): JsonObject {
  const { debounce, signing_secret, ...values } = keys.values;
  const kept = Object.keys(TRIGGER_KEYS).flatMap((key) => {
    const value = (values as JsonObject)[key];
    return value === undefined ? [] : [[key, value] as const];
  });
  return {
    ...Object.fromEntries(kept),
    ...defined({ signing_secret: signing_secret?.name, debounce_ms: debounce, timezone: values.timezone }),
  } as JsonObject;
}

function concurrencyOf({ keys }: ReadFlow): Plan['concurrency'] {
  const read = keys.values.concurrency;
  return read && { limit: read.limit, onLimit: read.onLimit, ...defined({ key: read.key }) };
}
