import { didYouMean } from '../../shared/closest.js';
import type { ReadCase } from '../parse/eval-model.js';
import type { ReadFlow, ReadNode } from '../parse/flow-model.js';
import { allNodes } from '../parse/step-scope.js';
import type { Catalog, Found } from '../resolve/catalog.js';
import { checkAgent } from './check-agents.js';
import type { Report } from './report.js';
import { allToolNames, toolOf } from './tool-names.js';

/** Checks the names in an eval's file: its target, the target's steps, tools. */
export function checkEvals(catalog: Catalog, report: Report): void {
  const tools = allToolNames(catalog);
  for (const file of catalog.read) {
    if (file.model?.kind !== 'eval') continue;
    const evalFile = file as Found<'eval'>;
    const flow = checkTarget(catalog, evalFile, report);
    for (const testCase of evalFile.model.cases) {
      if (flow) checkCaseSteps({ catalog, evalFile, flow, report }, testCase);
      checkCaseTools(evalFile, { testCase, tools }, report);
    }
  }
}

function checkTarget(catalog: Catalog, evalFile: Found<'eval'>, report: Report): ReadFlow | undefined {
  const target = evalFile.model.keys.values.target;
  if (target === undefined) return undefined;
  const name = target.name.slice(target.name.indexOf('/') + 1);
  if (target.name.startsWith('agents/')) {
    checkAgent(catalog, { file: evalFile, ref: { name, offset: target.offset } }, report);
    return undefined;
  }
  const flow = catalog.flows.get(name)?.model;
  const hint = () => didYouMean(name, catalog.flows.keys());
  if (!flow) report(evalFile, target.offset, { code: 'ref/subflow', message: `There is no flow \`${name}\`.`, hint });
  return flow;
}

interface Target {
  readonly catalog: Catalog;
  readonly evalFile: Found<'eval'>;
  readonly flow: ReadFlow;
  readonly report: Report;
}

function checkCaseSteps(target: Target, { decisions, expect }: ReadCase): void {
  for (const { step, offset } of decisions) checkStepPath(target, step, offset);
  for (const { assertion, offset } of expect) {
    if (assertion.step !== undefined) checkStepPath(target, assertion.step, offset);
    if (assertion.type === 'parked-at') checkStepPath(target, assertion.value, offset);
  }
}

/** `step`, or `step/step` for one inside a subflow. */
function checkStepPath({ catalog, evalFile, flow, report }: Target, path: string, offset: number): void {
  let at: ReadFlow | undefined = flow;
  for (const id of path.split('/')) {
    const nodes: readonly ReadNode[] = at === undefined ? [] : allNodes(at);
    const found = nodes.find((node) => node.id === id);
    if (found === undefined) {
      const where = at === undefined ? 'a step without a subflow' : `flows/${at.name}`;
      const message = `There is no step \`${id}\` in ${where}.`;
      const hint = () =>
        didYouMean(
          id,
          nodes.map((node) => node.id),
        );
      report(evalFile, offset, { code: 'step/unknown-step', message, hint });
      return;
    }
    const subflow = found.kind === 'step' ? found.options.values.subflow : undefined;
    at = subflow && catalog.flows.get(subflow.name)?.model;
  }
}

function checkCaseTools(
  evalFile: Found<'eval'>,
  { testCase, tools }: { readonly testCase: ReadCase; readonly tools: ReadonlySet<string> | null },
  report: Report,
): void {
  if (tools === null) return;
  const called = testCase.expect.flatMap(({ assertion, offset }) =>
    assertion.type === 'tool-called' ? [{ tool: assertion.value, offset }] : [],
  );
  for (const { tool, offset } of [...testCase.canned, ...called]) {
    if (tools.has(toolOf(tool))) continue;
    const message = `There is no tool \`${tool}\` in this workspace.`;
    report(evalFile, offset, { code: 'ref/tool', message, hint: () => didYouMean(toolOf(tool), tools) });
  }
}
