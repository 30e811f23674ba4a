import { checkCombinations } from './check-combinations.js';
import { checkExpressions } from './check-expressions.js';
import { checkJumps } from './check-jumps.js';
import { checkVariables } from './check-variables.js';
import { type ReadFlow, type ReadGroup, type ReadStep, stepsOf } from './flow-model.js';
import type { OpenFile } from './open-file.js';
import { report } from './source.js';
import { oldStepId } from './step-id.js';
import { allNodes, scopeOf } from './step-scope.js';

/** Checks the steps of a flow as far as possible without other files. */
export function checkSteps(file: OpenFile, flow: ReadFlow): void {
  const scope = scopeOf(flow);
  checkIds(file, flow);
  for (const step of stepsOf(flow.nodes)) {
    checkDoer(file, step);
    checkCombinations(file, step);
    checkJumps(file, step, scope);
  }
  checkExpressions(file, flow, scope);
  checkVariables(file, flow, scope);
}

function checkIds(file: OpenFile, flow: ReadFlow): void {
  const seen = new Map<string, Named>();
  for (const node of allNodes(flow)) {
    const { id, offset, options } = node;
    const first = seen.get(id);
    if (id !== '' && first !== undefined) {
      const message = `Two steps have the id \`${id}\`.`;
      const at = options.has('id') ? options.at('id') : offset;
      report(file, at, { code: 'step/duplicate-id', message, hint: () => duplicateHint([first, node]) });
    }
    seen.set(id, first ?? node);
  }
}

type Named = ReadStep | ReadGroup;

/** A hint for titles that had different ids in an earlier version: an `id` keeps them. */
function duplicateHint(nodes: readonly Named[]): string {
  const isNamed = ({ options }: Named) => options.has('id');
  const [renamed] = nodes.flatMap((node) => {
    const old = isNamed(node) ? undefined : oldStepId(node.title);
    return old === undefined ? [] : [{ title: node.title, old }];
  });
  if (renamed === undefined) return 'Give one of them another title, or its own `- id:`.';
  const { title, old } = renamed;
  return `Earlier versions gave “${title}” the id \`${old}\`: write \`- id: ${old}\` below it to keep that, or give one of them another title.`;
}

function checkDoer(file: OpenFile, { agent, strayAgent, options, offset }: ReadStep): void {
  if (agent && options.has('subflow')) {
    const message = `A step has one doer, and this one names \`@${agent.name}\` and a subflow.`;
    report(file, options.at('subflow'), { code: 'step/two-doers', message, hint: 'Make two steps of it.' });
  }
  if (agent || options.may('subflow') || options.may('approve') || options.may('wait')) return;
  const hint = strayAgent
    ? `Make \`@${strayAgent.name}\` the last word of the heading.`
    : 'End the heading with `@agent`, or add `- subflow:`, `- wait:` or `- approve:`.';
  const message = 'No agent, flow or person does this step.';
  report(file, strayAgent?.offset ?? offset, { code: 'step/no-doer', message, hint });
}
