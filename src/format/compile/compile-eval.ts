import type { Json } from '../../shared/json.js';
import type { EvalCase, EvalPlan } from '../model.js';
import type { ReadCase, ReadEval } from '../parse/eval-model.js';
import type { ReadFile } from '../parse/read-file.js';
import { positionAt } from '../parse/source.js';
import { LIBRARY } from '../resolve/catalog.js';
import { defined } from './defined.js';

/** An eval's file as its runs need it: what a case leaves out, the file's own keys say. Empty for other files. */
export function compileEval({ model, source }: ReadFile): EvalPlan[] {
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
