import type { GatePlan, GroupPlan, PlanNode, StepPlan, WaitPlan } from '../model.js';
import type { ReadGroup, ReadNode, ReadStep } from '../parse/flow-model.js';
import { defined } from './defined.js';

export function compileNode(node: ReadNode): PlanNode {
  return node.kind === 'group' ? compileGroup(node) : compileStep(node);
}

function compileGroup({ id, oldId, title, options, preface, branches }: ReadGroup): GroupPlan {
  const { when, join = 'all' } = options.values;
  return {
    kind: 'group',
    id,
    title,
    join,
    preface: preface.pieces,
    branches: branches.map(compileStep),
    ...defined({ oldId, when }),
  };
}

function compileStep(step: ReadStep): StepPlan {
  const { values } = step.options;
  const parks = values.approve !== undefined || values.wait !== undefined;
  return {
    kind: 'step',
    n: step.n,
    id: step.id,
    title: step.title,
    instruction: step.instruction.pieces,
    output: values.output ?? 'text',
    onFail: values.on_fail?.name ?? 'stop',
    secrets: values.secrets?.map(({ name }) => name) ?? [],
    ...defined({
      oldId: step.oldId,
      agent: step.agent?.name,
      subflow: values.subflow?.name,
      with: values.with,
      schema: step.schema,
      when: values.when,
      until: values.until,
      each: eachOf(step),
      backTo: values.back_to?.name,
      maxRounds: values.max_rounds,
      retry: values.retry,
      budgetUsd: values.budget,
      timeoutMs: parks ? undefined : values.timeout,
      model: values.model?.name,
      tools: values.tools?.map(({ name }) => name),
      wait: waitOf(step),
      gate: gateOf(step),
    }),
  };
}

function eachOf({ options }: ReadStep): StepPlan['each'] {
  const { each, as = 'item', parallel = 1 } = options.values;
  return each === undefined ? undefined : { list: each, as, parallel };
}

function waitOf({ options }: ReadStep): WaitPlan | undefined {
  const { wait, timeout, on_timeout: onTimeout } = options.values;
  if (wait?.kind !== 'event') return wait;
  return { kind: 'event', onTimeout: onTimeout?.name ?? 'fail', ...defined({ timeoutMs: timeout }) };
}

function gateOf({ options, form }: ReadStep): GatePlan | undefined {
  const {
    approve,
    need = 1,
    self = true,
    edit = [],
    remind,
    escalate,
    timeout,
    on_timeout,
    on_reject,
  } = options.values;
  if (approve === undefined) return undefined;
  return {
    approvers: approve,
    need,
    self,
    edit: edit.map(({ name }) => name),
    onTimeout: on_timeout?.name ?? 'reject',
    onReject: on_reject?.name ?? 'stop',
    ...defined({ form, formText: form && JSON.stringify(form), remindMs: remind, escalate, timeoutMs: timeout }),
  };
}
