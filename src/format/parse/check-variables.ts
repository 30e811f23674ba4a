import { didYouMean } from '../../shared/closest.js';
import { isRecord, type Json, type JsonObject } from '../../shared/json.js';
import { PATH } from '../text/read-text.js';
import { forwardRead } from './check-forward-reads.js';
import { type ReadFlow, type ReadGroup, type ReadStep, stepsOf } from './flow-model.js';
import type { OpenFile } from './open-file.js';
import type { Prose } from './prose.js';
import { type Fault, report } from './source.js';
import type { StepScope } from './step-scope.js';

const STEP_FIELDS = ['result', 'data', 'event', 'decision', 'status'];
const TRIGGER_FIELDS = ['kind', 'at', 'headers', 'query', 'deliveryId', 'from'];
const RUN_FIELDS = ['id', 'flow', 'startedAt', 'tags', 'startedBy'];

/** The roots that `{{paths}}` of a text may begin with. */
export interface Roots {
  readonly input?: JsonObject | undefined;
  readonly scope?: StepScope;
  /** The reader of the text; none for the brief, which every step gets. */
  readonly reader?: ReadStep | ReadGroup;
  /** True in a step that waits for an event: only there `{{step.release_url}}` exists. */
  readonly waits?: boolean;
  /** The name of the item, in a step with `each`. */
  readonly item?: string;
}

/** Checks every `{{path}}` and `${NAME}` in the texts of a flow. */
export function checkVariables(file: OpenFile, flow: ReadFlow, scope: StepScope): void {
  const { input } = flow.keys.values;
  checkProse(file, flow.brief, { input, scope });
  for (const node of flow.nodes)
    if (node.kind === 'group') checkProse(file, node.preface, { input, scope, reader: node });
  for (const step of stepsOf(flow.nodes)) {
    const roots = rootsOf(step, { input, scope, reader: step });
    checkProse(file, step.instruction, roots);
    if (step.options.values.with)
      checkWith(file, { value: step.options.values.with, at: step.options.at('with') }, roots);
  }
}

function rootsOf({ options }: ReadStep, common: Roots): Roots {
  const { wait, as = 'item' } = options.values;
  const item = options.misspelt('as')?.value;
  return {
    ...common,
    waits: wait?.kind === 'event' || options.misspelt('wait') !== undefined,
    ...(options.may('each') ? { item: typeof item === 'string' ? item : as } : {}),
  };
}

/** Checks the marks of one text. Links are checked with the whole tree. */
export function checkProse(file: OpenFile, { marks }: Prose, roots: Roots): void {
  for (const { kind, text, offset } of marks) {
    if (kind === 'secret') {
      const message = `A prompt cannot hold the secret \`\${${text}}\`: no model ever sees one.`;
      const hint = 'Use it in a tool file or in `mcpServers`, or write `\\${` to mean the text.';
      report(file, offset, { code: 'secret/in-prompt', message, hint });
    } else if (kind === 'bad-value') {
      const message = `\`${text}\` is not a path of data such as \`{{input.order}}\`.`;
      report(file, offset, { code: 'step/bad-variable', message, hint: 'Write `\\{{` to mean the text.' });
    } else if (kind === 'value') reportPath(file, { path: text, offset }, roots);
  }
}

function checkWith(file: OpenFile, { value, at }: { value: Json; at: number }, roots: Roots): void {
  if (typeof value !== 'string') {
    const parts = Array.isArray(value) ? value : isRecord(value) ? (Object.values(value) as Json[]) : [];
    for (const part of parts) checkWith(file, { value: part as Json, at }, roots);
    return;
  }
  for (const [mark, inner] of value.matchAll(/\\\{\{|\{\{([^{}]*)\}\}/g)) {
    if (inner === undefined) continue;
    if (PATH.test(inner.trim())) reportPath(file, { path: inner.trim(), offset: at }, roots);
    else report(file, at, { code: 'step/bad-variable', message: `\`with\`: \`${mark}\` is not a path of data.` });
  }
}

function reportPath(file: OpenFile, { path, offset }: { path: string; offset: number }, roots: Roots): void {
  const fault = pathFault(path.split('.'), roots);
  if (fault) report(file, offset, { message: `\`{{${path}}}\`: ${fault.message}`, code: fault.code, hint: fault.hint });
  else reportForwardRead(file, { path, offset }, roots);
}

/** A step without a result is empty text. That is a warning, since no condition depends on it. */
function reportForwardRead(file: OpenFile, { path, offset }: { path: string; offset: number }, roots: Roots): void {
  const [root, id = ''] = path.split('.');
  if (root !== 'steps' || root === roots.item || !roots.scope || !roots.reader) return;
  const fault = forwardRead(roots.reader, id, roots.scope);
  if (fault === null) return;
  report(file, offset, { code: 'step/forward-read', severity: 'warning', message: `\`{{${path}}}\`: ${fault}` });
}

interface PathFault {
  readonly code: string;
  readonly message: string;
  readonly hint?: Fault['hint'];
}

function pathFault(parts: readonly string[], roots: Roots): PathFault | undefined {
  const [root = '', field] = parts;
  if (root === roots.item) return undefined;
  if (root === 'input') return inputFault(parts, roots.input);
  if (root === 'steps' && roots.scope) return stepFault(parts, roots.scope);
  if (root === 'trigger') return fieldFault(field, TRIGGER_FIELDS);
  if (root === 'run') return fieldFault(field, RUN_FIELDS);
  if (root === 'step') {
    if (field === 'release_url' && parts.length === 2 && roots.waits) return undefined;
    return bad('only `step.release_url` is there, and only in a step with `- wait: event`.');
  }
  const known = ['input', ...(roots.scope ? ['steps'] : []), 'trigger', 'run', ...(roots.item ? [roots.item] : [])];
  const hint = () => didYouMean(root, known) ?? 'Write `\\{{` to mean the text.';
  return bad(`a path begins with ${known.map((name) => `\`${name}\``).join(', ')}.`, hint);
}

function bad(message: string, hint?: Fault['hint']): PathFault {
  return { code: 'step/bad-variable', message, hint };
}

function fieldFault(field: string | undefined, fields: readonly string[]): PathFault | undefined {
  if (field === undefined || fields.includes(field)) return undefined;
  return bad(`there is no \`${field}\` here, but ${fields.join(', ')}.`, () => didYouMean(field, fields));
}

function stepFault([, id, field, ...rest]: readonly string[], scope: StepScope): PathFault | undefined {
  if (id === undefined) return bad('name a step, as in `{{steps.draft.result}}`.');
  const place = scope.get(id);
  if (place === undefined) {
    return {
      code: 'step/unknown-step',
      message: `there is no step \`${id}\`.`,
      hint: () => didYouMean(id, scope.keys()),
    };
  }
  if (place.node.kind === 'group') {
    return field === 'status' ? undefined : bad(`\`${id}\` is a group and has a \`status\` only.`);
  }
  if (field === undefined) {
    return bad(`name what of the step, as in \`{{steps.${id}.result}}\`: ${STEP_FIELDS.join(', ')}.`);
  }
  const isEach = place.node.options.may('each');
  if (field !== 'data') return fieldFault(field, isEach ? [...STEP_FIELDS, 'items'] : STEP_FIELDS);
  return isEach ? undefined : propertyFault(rest[0], place.node.schema);
}

function inputFault([, field]: readonly string[], schema: JsonObject | undefined): PathFault | undefined {
  return propertyFault(field, schema);
}

/** A closed schema never has other properties, so the path is missing in every run. */
function propertyFault(field: string | undefined, schema: JsonObject | undefined): PathFault | undefined {
  if (field === undefined || schema?.additionalProperties !== false || !isRecord(schema.properties)) return undefined;
  if (Object.hasOwn(schema.properties, field)) return undefined;
  const known = Object.keys(schema.properties);
  return bad(`the schema has no \`${field}\`, but ${known.slice(0, 30).join(', ')}.`, () => didYouMean(field, known));
}
