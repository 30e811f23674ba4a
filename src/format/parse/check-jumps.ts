import { didYouMean } from '../../shared/closest.js';
import type { ReadStep } from './flow-model.js';
import type { OpenFile } from './open-file.js';
import type { Ref } from './reader.js';
import { report } from './source.js';
import type { StepScope } from './step-scope.js';

type JumpOption = 'back_to' | 'on_fail' | 'on_reject' | 'on_timeout';

/** Words that a jump may have instead of an earlier step. */
function wordsOf(option: JumpOption, { options }: ReadStep): readonly string[] {
  if (option === 'back_to') return [];
  if (option !== 'on_timeout') return ['stop', 'continue'];
  return options.may('approve') ? ['reject', 'fail', 'continue'] : ['fail', 'continue'];
}

/** Words that mean something in other options: here they are a bad value rather than a missing step. */
const WORDS: ReadonlySet<string> = new Set([
  'stop',
  'continue',
  'reject',
  'fail',
  'approve',
  'retry',
  'skip',
  'cancel',
]);

/** Checks the jumps of a step: only back, to a step or a group of its own level, and with a limit. */
export function checkJumps(file: OpenFile, step: ReadStep, scope: StepScope): void {
  const jumps: Ref[] = [];
  for (const option of ['back_to', 'on_fail', 'on_reject', 'on_timeout'] as const) {
    const target = step.options.values[option];
    if (target === undefined || wordsOf(option, step).includes(target.name)) continue;
    if (!scope.has(target.name) && WORDS.has(target.name)) reportWord(file, { option, target, step });
    else if (checkTarget(file, { option, target, step }, scope)) jumps.push(target);
  }
  for (const target of step.options.values.edit ?? []) checkEdit(file, { option: 'edit', target, step }, scope);
  checkBound(file, step, jumps);
}

interface Jump {
  readonly option: JumpOption | 'edit';
  readonly target: Ref;
  readonly step: ReadStep;
}

function reportWord(file: OpenFile, { option, target, step }: Jump): void {
  const words = wordsOf(option as JumpOption, step).map((word) => `\`${word}\``);
  const allowed = [...words, 'the id of an earlier step'].join(', ');
  const never = target.name === 'approve' ? ' Nothing ever approves by itself.' : '';
  const message = `\`${option}\` must be ${allowed}, not \`${target.name}\`.${never}`;
  report(file, target.offset, { code: 'step/bad-value', message });
}

/** True when the step exists, so that the flow would go back. */
function checkTarget(file: OpenFile, jump: Jump, scope: StepScope): boolean {
  const { option, target, step } = jump;
  const to = scope.get(target.name);
  if (to === undefined) return reportMissing(file, jump, scope);
  const from = scope.get(step.id);
  if (from?.group !== undefined) {
    if (target.name === step.id) return true;
    const message = `\`${option}\`: a parallel branch can go back to itself only, not to \`${target.name}\`.`;
    report(file, target.offset, { code: 'step/forward-jump', message });
    return true;
  }
  if (to.group !== undefined) {
    const message = `\`${option}\`: \`${target.name}\` is a branch; go back to its group, \`${to.group.id}\`.`;
    report(file, target.offset, { code: 'step/forward-jump', message });
  } else if (from !== undefined && to.index >= from.index) {
    const message = `\`${option}\`: \`${target.name}\` is not earlier than this step; a flow only goes back.`;
    report(file, target.offset, { code: 'step/forward-jump', message });
  }
  return true;
}

function reportMissing(file: OpenFile, { option, target }: Jump, scope: StepScope): false {
  const message = `\`${option}\`: there is no step \`${target.name}\`.`;
  report(file, target.offset, {
    code: 'step/unknown-step',
    message,
    hint: () => didYouMean(target.name, scope.keys()),
  });
  return false;
}

function checkEdit(file: OpenFile, jump: Jump, scope: StepScope): void {
  const { target, step } = jump;
  const to = scope.get(target.name);
  if (to === undefined) {
    reportMissing(file, jump, scope);
  } else if (to.node.kind === 'group') {
    const message = `\`edit\`: \`${target.name}\` is a group and has no result; name its branches.`;
    report(file, target.offset, { code: 'step/unknown-step', message });
  } else if (to.node.n > step.n) {
    const message = `\`edit\`: \`${target.name}\` comes after this step and has no result yet.`;
    report(file, target.offset, { code: 'step/forward-jump', message });
  } else if (to.group !== undefined && to.group === scope.get(step.id)?.group && to.node !== step) {
    const message = `\`edit\`: \`${target.name}\` runs beside this step and may have no result yet.`;
    report(file, target.offset, { code: 'step/forward-jump', message, hint: 'Put the gate after the group.' });
  } else if (to.node.agent === undefined && !to.node.options.may('subflow')) {
    const message = `\`edit\`: no agent or flow works in \`${target.name}\`, so it has no result to change.`;
    report(file, target.offset, { code: 'step/bad-value', message });
  }
}

function checkBound(file: OpenFile, { options }: ReadStep, jumps: readonly Ref[]): void {
  const first = jumps[0];
  if (first && !options.may('max_rounds')) {
    const message = `Going back to \`${first.name}\` needs a bound.`;
    report(file, first.offset, { code: 'step/loop-without-bound', message, hint: 'Add `- max_rounds: 3`.' });
  }
  const goesBack = first !== undefined || options.may('until') || options.may('back_to');
  const named = (['on_fail', 'on_reject', 'on_timeout'] as const).some((option) => options.may(option));
  if (options.has('max_rounds') && !goesBack && !named) {
    const message = '`max_rounds` has no meaning in a step that never goes back.';
    report(file, options.at('max_rounds'), { code: 'step/bad-value', message });
  }
}
