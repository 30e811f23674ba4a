import type { Assertion } from '../assertions/assertion.js';
import { renameSteps } from '../cel/index.js';
import type { ReadCase } from '../parse/eval-model.js';
import type { ReadFlow } from '../parse/flow-model.js';
import { allNodes } from '../parse/step-scope.js';
import type { Found } from './catalog.js';

type Flows = ReadonlyMap<string, Found<'flow'>>;

interface Target {
  readonly flow: ReadFlow;
  readonly flows: Flows;
}

/** An eval that names the steps of its target by their ids of today, also where it uses those of earlier versions. */
export function withCurrentSteps(evalFile: Found<'eval'>, flows: Flows): Found<'eval'> {
  const { model } = evalFile;
  const { name = '' } = model.keys.values.target ?? {};
  const flow = name.startsWith('flows/') ? flows.get(name.slice('flows/'.length))?.model : undefined;
  if (!flow) return evalFile;
  const cases = model.cases.map((read) => currentCase(read, { flow, flows }));
  return { ...evalFile, model: { ...model, cases } };
}

function currentCase(read: ReadCase, target: Target): ReadCase {
  return {
    ...read,
    decisions: read.decisions.map((decision) => ({ ...decision, step: currentStepPath(decision.step, target) })),
    expect: read.expect.map(({ assertion, ...rest }) => ({ ...rest, assertion: currentAssertion(assertion, target) })),
  };
}

function currentAssertion(assertion: Assertion, target: Target): Assertion {
  const { type, step, value } = assertion;
  const ids = new Map(allNodes(target.flow).flatMap(({ id, oldId }) => (oldId === undefined ? [] : [[oldId, id]])));
  return {
    ...assertion,
    ...(step === undefined ? {} : { step: currentStepPath(step, target) }),
    ...(type === 'parked-at' ? { value: currentStepPath(value, target) } : {}),
    ...(type === 'cel' && ids.size > 0 ? { value: renameSteps(value, ids) } : {}),
  };
}

/** `step`, or `step/step` for one inside a subflow. */
function currentStepPath(path: string, { flow, flows }: Target): string {
  let at: ReadFlow | undefined = flow;
  return path
    .split('/')
    .map((id) => {
      const nodes = at ? allNodes(at) : [];
      const found = nodes.find((node) => node.id === id) ?? nodes.find(({ oldId }) => oldId === id);
      const subflow = found?.kind === 'step' ? found.options.values.subflow : undefined;
      at = subflow && flows.get(subflow.name)?.model;
      return found?.id ?? id;
    })
    .join('/');
}
