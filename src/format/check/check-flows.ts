import { didYouMean } from '../../shared/closest.js';
import { type ReadStep, stepsOf } from '../parse/flow-model.js';
import type { Catalog, Found } from '../resolve/catalog.js';
import { checkAgent } from './check-agents.js';
import { checkOperation } from './check-operation.js';
import type { Report } from './report.js';
import { grantedNames, grantsAreClear, toolOf } from './tool-names.js';

/** Checks the names in a flow's steps: agents, subflows, tools. */
export function checkFlows(catalog: Catalog, report: Report): void {
  for (const flow of catalog.flows.values()) {
    for (const step of stepsOf(flow.model.nodes)) {
      if (step.agent) checkAgent(catalog, { file: flow, ref: step.agent }, report);
      checkStepTools(catalog, { flow, step }, report);
      checkSubflow(catalog, { flow, step }, report);
    }
  }
  checkCycles(catalog, report);
}

interface StepOf {
  readonly flow: Found<'flow'>;
  readonly step: ReadStep;
}

function checkStepTools(catalog: Catalog, { flow, step }: StepOf, report: Report): void {
  const agent = step.agent && catalog.agents.get(step.agent.name);
  if (!agent || !grantsAreClear(agent.model)) return;
  const granted = grantedNames(agent.model);
  for (const { name, offset } of step.options.values.tools ?? []) {
    if (granted.has(toolOf(name))) {
      checkOperation({ catalog, agent: agent.model.name }, { file: flow, ref: { name, offset } }, report);
      continue;
    }
    const message = `\`tools\` only restricts, and \`@${agent.model.name}\` has no tool \`${name}\`.`;
    report(flow, offset, { code: 'ref/tool', message, hint: () => didYouMean(toolOf(name), granted) });
  }
}

function checkSubflow(catalog: Catalog, { flow, step }: StepOf, report: Report): void {
  const ref = step.options.values.subflow;
  if (ref === undefined || catalog.flows.has(ref.name)) return;
  const hint = () => didYouMean(ref.name, catalog.flows.keys()) ?? `Add \`flows/${ref.name}.md\`.`;
  report(flow, ref.offset, { code: 'ref/subflow', message: `There is no flow \`${ref.name}\`.`, hint });
}

/** Reports each edge that closes a cycle of subflows, since such a flow would never end. */
function checkCycles(catalog: Catalog, report: Report): void {
  const state = new Map<string, 'open' | 'done'>();
  for (const root of catalog.flows.keys()) {
    if (state.has(root)) continue;
    const path: { flow: Found<'flow'>; left: ReadStep[] }[] = [];
    const enter = (flow: Found<'flow'>) => {
      state.set(flow.model.name, 'open');
      path.push({ flow, left: stepsOf(flow.model.nodes).filter(({ options }) => options.has('subflow')) });
    };
    const first = catalog.flows.get(root);
    if (first) enter(first);
    for (let top = path.at(-1); top; top = path.at(-1)) {
      const step = top.left.shift();
      if (step === undefined) {
        state.set(top.flow.model.name, 'done');
        path.pop();
        continue;
      }
      const ref = step.options.values.subflow;
      const next = ref && catalog.flows.get(ref.name);
      if (!ref || !next) continue;
      if (state.get(ref.name) === 'open')
        reportCycle(report, { flow: top.flow, ref, names: path.map(({ flow }) => flow.model.name) });
      else if (!state.has(ref.name)) enter(next);
    }
  }
}

interface Cycle {
  readonly flow: Found<'flow'>;
  readonly ref: { readonly name: string; readonly offset: number };
  readonly names: readonly string[];
}

function reportCycle(report: Report, { flow, ref, names }: Cycle): void {
  const round = [...names.slice(names.indexOf(ref.name)), ref.name].join(' → ');
  report(flow, ref.offset, {
    code: 'ref/subflow-cycle',
    message: `These flows start one another without end: ${round}.`,
  });
}
