import type { Assertion } from '../assertions/assertion.js';
import { renameSteps } from '../cel/index.js';
import type { EvalPlan, Plan } from '../model.js';

/** A flow whose steps an eval names. */
export interface NamedFlow {
  readonly nodes: readonly {
    readonly id: string;
    readonly oldId?: string | undefined;
    /** The flow that the step calls. */
    readonly subflow?: string | undefined;
  }[];
}

/** The target of an eval, and the flows that it calls by their names. */
export interface NamedTarget {
  readonly flow: NamedFlow;
  readonly flowOf: (name: string) => NamedFlow | undefined;
}

/** `step`, or `step/step` for one inside a subflow, with current ids instead of those of earlier versions. */
export function currentStepPath(path: string, { flow, flowOf }: NamedTarget): string {
  let at: NamedFlow | undefined = flow;
  return path
    .split('/')
    .map((id) => {
      const nodes = at?.nodes ?? [];
      const found = nodes.find((node) => node.id === id) ?? nodes.find(({ oldId }) => oldId === id);
      at = found?.subflow === undefined ? undefined : flowOf(found.subflow);
      return found?.id ?? id;
    })
    .join('/');
}

export function currentAssertion(assertion: Assertion, target: NamedTarget): Assertion {
  const { type, step, value } = assertion;
  const ids = new Map(target.flow.nodes.flatMap(({ id, oldId }) => (oldId === undefined ? [] : [[oldId, id]])));
  return {
    ...assertion,
    ...(step === undefined ? {} : { step: currentStepPath(step, target) }),
    ...(type === 'parked-at' ? { value: currentStepPath(value, target) } : {}),
    ...(type === 'cel' && ids.size > 0 ? { value: renameSteps(value, ids) } : {}),
  };
}

/**
 * A stored eval with the current ids of its target's steps. An eval is compiled at a deploy, its plans also when the
 * library changes, perhaps by a later version. `plans` are the plans of the target and its subflows, by target.
 */
export function currentEval(spec: EvalPlan, plans: ReadonlyMap<string, Plan>): EvalPlan {
  const flowAt = (target: string): NamedFlow | undefined => {
    const nodes = plans.get(target)?.nodes;
    return nodes && { nodes: nodes.flatMap((node) => (node.kind === 'group' ? [node, ...node.branches] : [node])) };
  };
  const flow = flowAt(spec.target);
  if (!flow) return spec;
  const target = { flow, flowOf: (name: string) => flowAt(`flows/${name}`) };
  const cases = spec.cases.map((one) => ({
    ...one,
    decisions: one.decisions.map((decision) => ({ ...decision, step: currentStepPath(decision.step, target) })),
    expect: one.expect.map((assertion) => currentAssertion(assertion, target)),
  }));
  return { ...spec, cases };
}
