import type { Json } from '../../shared/json.js';
import type { EvalCase, EvalPlan, FlowSummary, Workspace } from '../model.js';
import type { ReadCase, ReadEval } from '../parse/eval-model.js';
import { stepsOf } from '../parse/flow-model.js';
import type { ReadFile } from '../parse/read-file.js';
import { positionAt } from '../parse/source.js';
import { type Catalog, type Found, LIBRARY } from '../resolve/catalog.js';
import { compileAgent } from './compile-agent.js';
import { compileAgentRun, compileFlow } from './compile-plan.js';
import { defined } from './defined.js';

/** Compiles a tree that has no error. */
export function compileWorkspace(catalog: Catalog): Workspace {
  const defaults = catalog.defaults?.model.keys.values ?? {};
  const agents = sorted(catalog.agents);
  const flows = sorted(catalog.flows);
  const agentPlans = new Map(agents.map((agent) => [agent.model.name, compileAgent(catalog, agent)]));
  const plans = [
    ...flows.map((flow) => [`flows/${flow.model.name}`, compileFlow(catalog, flow, agentPlans)] as const),
    ...agents.map((agent) => [`agents/${agent.model.name}`, compileAgentRun(catalog, agent, agentPlans)] as const),
  ];
  const count = (kind: string) =>
    catalog.read.filter(({ place, source }) => place.kind === kind && !source.path.startsWith(LIBRARY)).length;
  return {
    description: defaults.description ?? '',
    timezone: defaults.timezone ?? null,
    budgetUsd: defaults.budget ?? null,
    notify: defaults.notify ?? null,
    counts: {
      agents: agents.length,
      flows: flows.length,
      evals: count('eval'),
      tools: count('tool'),
      skills: count('skill'),
    },
    flows: flows.map((flow) => summarize(flow, defaults.timezone)),
    agents: agents.map(({ model, source }) => ({
      name: model.name,
      path: source.path,
      description: model.keys.values.description ?? '',
    })),
    documents: [...catalog.documents.values()]
      .filter(({ source }) => !source.path.startsWith(LIBRARY))
      .map(({ source, model }) => ({ path: source.path, title: model.title, description: model.description })),
    evals: catalog.read.flatMap(compileEval),
    plans: Object.fromEntries(plans),
  };
}

function sorted<T extends Found<'agent'> | Found<'flow'>>(map: ReadonlyMap<string, T>): T[] {
  return [...map.values()].sort((a, b) => (a.model.name < b.model.name ? -1 : 1));
}

function summarize({ model, source }: Found<'flow'>, timezone: string | undefined): FlowSummary {
  const { values } = model.keys;
  const steps = stepsOf(model.nodes);
  const cron = values.cron;
  return {
    name: model.name,
    path: source.path,
    description: values.description ?? '',
    triggers: values.trigger ?? ['manual'],
    enabled: values.enabled ?? true,
    steps: steps.length,
    agents: [...new Set(steps.flatMap(({ agent }) => agent?.name ?? []))],
    schedule: cron === undefined ? null : { cron, ...defined({ timezone: values.timezone ?? timezone }) },
  };
}

/** Compiles an eval's file for its runs. The file's keys are the defaults of its cases. Empty for other files. */
function compileEval({ model, source }: ReadFile): EvalPlan[] {
  if (model?.kind !== 'eval' || source.path.startsWith(LIBRARY)) return [];
  const { values } = model.keys;
  return [
    {
      name: model.name,
      path: source.path,
      description: values.description ?? '',
      target: values.target?.name ?? '',
      tags: values.tags ?? [],
      trigger: values.trigger ?? 'push',
      cases: model.cases.map((read) => compileCase(read, model.keys.values, positionAt(source, read.offset).line)),
      ...defined({ judge: values.judge?.name, budgetUsd: values.budget }),
    },
  ];
}

function compileCase(read: ReadCase, file: ReadEval['keys']['values'], line: number): EvalCase {
  const own = read.options.values;
  return {
    title: read.title,
    line,
    tags: [...new Set([...(file.tags ?? []), ...(own.tags ?? [])])],
    skip: own.skip ?? false,
    threshold: own.threshold ?? file.threshold ?? 1,
    repeat: own.repeat ?? file.repeat ?? 1,
    live: own.live ?? file.live ?? false,
    input: read.input,
    decisions: read.decisions.map(({ offset: _, ...decision }) => decision),
    tools: cannedByTool(read),
    expect: read.expect.map(({ assertion }) => assertion),
    ...defined({ timeoutMs: own.timeout ?? file.timeout }),
  };
}

function cannedByTool({ canned }: ReadCase): Record<string, readonly Json[]> {
  const byTool = new Map<string, Json[]>();
  for (const { tool, answer } of canned) byTool.set(tool, [...(byTool.get(tool) ?? []), answer]);
  return Object.fromEntries(byTool);
}
