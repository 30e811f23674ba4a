import { didYouMean } from '../../shared/closest.js';
import { checkCel } from '../cel/index.js';
import { declares } from '../schema/index.js';
import { forwardRead } from './check-forward-reads.js';
import type { ReadFlow, ReadGroup, ReadStep } from './flow-model.js';
import type { OpenFile } from './open-file.js';
import { report } from './source.js';
import { allNodes, type StepScope } from './step-scope.js';

const ROOTS = ['input', 'steps', 'trigger', 'run'] as const;
const EXPRESSIONS = { when: ROOTS, each: ROOTS, until: [...ROOTS, 'self'] } as const;

/** Checks all CEL options of a flow's steps and groups: grammar, roots, and the steps that they name. */
export function checkExpressions(file: OpenFile, flow: ReadFlow, scope: StepScope): void {
  for (const node of allNodes(flow)) {
    for (const [option, roots] of Object.entries(EXPRESSIONS)) {
      const source = sourceOf(node, option as keyof typeof EXPRESSIONS);
      if (source !== undefined)
        checkExpression(file, { flow, node, option, source: source.text, at: source.at, roots }, scope);
    }
  }
}

function sourceOf(
  node: ReadStep | ReadGroup,
  option: keyof typeof EXPRESSIONS,
): { text: string; at: number } | undefined {
  if (node.kind === 'group' && option !== 'when') return undefined;
  const options = node.options as ReadStep['options'];
  const text = options.values[option];
  return text === undefined ? undefined : { text, at: options.at(option) };
}

interface Expression {
  readonly flow: ReadFlow;
  readonly node: ReadStep | ReadGroup;
  readonly option: string;
  readonly source: string;
  readonly at: number;
  readonly roots: readonly string[];
}

function checkExpression(file: OpenFile, expression: Expression, scope: StepScope): void {
  const { flow, node, option, source, at, roots } = expression;
  const hasField = (path: readonly string[]) => isDeclared(path, { flow, node, scope });
  const read = checkCel(source, { roots, hasField });
  if (!read.ok) {
    report(file, at + read.offset, { code: 'step/bad-expression', message: `\`${option}\`: ${read.message}.` });
    return;
  }
  warnOfOldIds(file, expression, read.stepTexts);
  for (const id of read.steps) {
    const found = new RegExp(`steps\\s*(?:\\.\\s*|\\[\\s*["'])${id}\\b`).exec(source)?.index ?? 0;
    if (scope.has(id)) {
      // `until` is evaluated when the step is done.
      const fault = option === 'until' && id === node.id ? null : forwardRead(node, id, scope);
      const hint = 'Read a step that comes before, or put this step behind it.';
      if (fault) report(file, at + found, { code: 'step/forward-read', message: `\`${option}\`: ${fault}`, hint });
      continue;
    }
    const message = `\`${option}\`: there is no step \`${id}\`.`;
    report(file, at + found, { code: 'step/unknown-step', message, hint: () => didYouMean(id, scope.keys()) });
  }
}

/** An id of an earlier version that is compared with the ids of all steps, where it is not replaced. */
function warnOfOldIds(
  file: OpenFile,
  { flow, node, option, at }: Expression,
  texts: ReadonlyMap<string, number>,
): void {
  // Under this name the step sees its item.
  if (node.kind === 'step' && node.options.values.as === 'steps') return;
  const nodes = allNodes(flow);
  for (const [text, offset] of texts) {
    const renamed = nodes.find(({ oldId }) => oldId === text);
    if (renamed === undefined || nodes.some(({ id }) => id === text)) continue;
    const message = `\`${option}\`: \`${text}\` is the id that earlier versions gave the step \`${renamed.id}\`, and no step has it now.`;
    const hint = `Write \`${renamed.id}\`, or add \`- id: ${text}\` to the step.`;
    report(file, at + offset, { code: 'step/old-id', severity: 'warning', message, hint });
  }
}

interface Declared {
  readonly flow: ReadFlow;
  readonly node: ReadStep | ReadGroup;
  readonly scope: StepScope;
}

/** True if the schema of the input, of a step's answer or of a gate's form has a field at this path. */
function isDeclared([root, ...path]: readonly string[], { flow, node, scope }: Declared): boolean {
  if (root === 'input') return declares(flow.keys.values.input, path);
  if (root === 'self') return node.kind === 'step' && isDeclaredOf(node, path);
  const step = root === 'steps' ? scope.get(path[0] ?? '')?.node : undefined;
  return step?.kind === 'step' && isDeclaredOf(step, path.slice(1));
}

function isDeclaredOf({ schema, form, options }: ReadStep, [field, ...path]: readonly string[]): boolean {
  if (field === 'decision') return path[0] === 'form' && declares(form, path.slice(1));
  if (field !== 'data') return false;
  // With `each`, the data are a list of answers.
  if (!options.may('each')) return declares(schema, path);
  return path[0] === '[]' && declares(schema, path.slice(1));
}
