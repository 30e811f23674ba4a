import { isRecord, type Json, type JsonObject } from '../../shared/json.js';
import { renameSteps } from '../cel/index.js';
import type { ReadFlow, ReadGroup, ReadStep } from './flow-model.js';
import type { Prose } from './prose.js';
import type { Ref } from './reader.js';
import { allNodes } from './step-scope.js';

/** Ids of earlier versions, mapped to current ids. */
type Ids = ReadonlyMap<string, string>;

/** Words that a jump may have instead of a step: they are never an old id. */
const WORDS: ReadonlySet<string> = new Set(['stop', 'continue', 'reject', 'fail']);

/**
 * Replaces the step ids that earlier versions derived from titles by the current ids. An old id counts only if it means
 * one step: not if it is also the id of another step, or the old id of two.
 */
export function withCurrentIds(flow: ReadFlow): ReadFlow {
  const ids = oldIdsOf(flow);
  const nodes = flow.nodes.map((node) => (node.kind === 'step' ? currentStep(node, ids) : currentGroup(node, ids)));
  return ids.size === 0 ? { ...flow, nodes } : { ...flow, brief: currentProse(flow.brief, ids), nodes };
}

function oldIdsOf(flow: ReadFlow): Ids {
  const nodes = allNodes(flow);
  const own = new Set(nodes.map(({ id }) => id));
  const olds = nodes.flatMap(({ oldId = '', id }) => (oldId === '' || own.has(oldId) ? [] : [[oldId, id] as const]));
  return new Map(olds.filter(([old]) => olds.filter(([other]) => other === old).length === 1));
}

function currentGroup({ oldId, ...group }: ReadGroup, ids: Ids): ReadGroup {
  const { when } = group.options.values;
  const current = {
    ...group,
    ...keptOldId(oldId, ids),
    branches: group.branches.map((branch) => currentStep(branch, ids)),
  };
  if (ids.size === 0) return current;
  const values = { ...group.options.values, ...(when === undefined ? {} : { when: renameSteps(when, ids) }) };
  return { ...current, options: { ...group.options, values }, preface: currentProse(group.preface, ids) };
}

function currentStep({ oldId, ...step }: ReadStep, ids: Ids): ReadStep {
  const current = { ...step, ...keptOldId(oldId, ids) };
  if (ids.size === 0) return current;
  const options = { ...step.options, values: { ...step.options.values, ...currentJumps(step, ids) } };
  // The item of `each` has the name `steps` here and hides the steps.
  if (options.values.as === 'steps') return { ...current, options };
  const values = { ...options.values, ...currentReads(step, ids) };
  return { ...current, options: { ...options, values }, instruction: currentProse(step.instruction, ids) };
}

function keptOldId(oldId: string | undefined, ids: Ids): { oldId?: string } {
  return oldId !== undefined && ids.has(oldId) ? { oldId } : {};
}

type Values = ReadStep['options']['values'];

function currentJumps({ options }: ReadStep, ids: Ids): Values {
  const { edit } = options.values;
  const current = (ref: Ref): Ref => ({ ...ref, name: ids.get(ref.name) ?? ref.name });
  const jumps = (['back_to', 'on_fail', 'on_reject', 'on_timeout'] as const).flatMap((option) => {
    const target = options.values[option];
    return target === undefined || WORDS.has(target.name) ? [] : [[option, current(target)] as const];
  });
  return { ...Object.fromEntries(jumps), ...(edit === undefined ? {} : { edit: edit.map(current) }) };
}

function currentReads({ options }: ReadStep, ids: Ids): Values {
  const { with: handed } = options.values;
  const expressions = (['when', 'each', 'until'] as const).flatMap((option) => {
    const source = options.values[option];
    return source === undefined ? [] : [[option, renameSteps(source, ids)] as const];
  });
  const filled = handed === undefined ? {} : { with: currentWith(handed, ids) as JsonObject };
  return { ...Object.fromEntries(expressions), ...filled };
}

function currentProse({ pieces, marks }: Prose, ids: Ids): Prose {
  return {
    pieces: pieces.map((piece) => (piece.kind === 'value' ? { ...piece, path: currentPath(piece.path, ids) } : piece)),
    marks: marks.map((mark) => (mark.kind === 'value' ? { ...mark, text: currentPath(mark.text, ids) } : mark)),
  };
}

function currentWith(value: Json, ids: Ids): Json {
  if (typeof value === 'string') {
    return value.replace(/\\\{\{|\{\{([^{}]*)\}\}/g, (mark, inner: string | undefined) => {
      const path = (inner ?? '').trim();
      return path === '' ? mark : mark.replace(path, currentPath(path, ids));
    });
  }
  if (Array.isArray(value)) return value.map((part) => currentWith(part as Json, ids));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, currentWith(part as Json, ids)]));
}

function currentPath(path: string, ids: Ids): string {
  const [root, id = '', ...rest] = path.split('.');
  return root === 'steps' && ids.has(id) ? [root, ids.get(id), ...rest].join('.') : path;
}
