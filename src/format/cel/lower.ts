import type { parse } from '@bufbuild/cel';

export type Expr = ReturnType<typeof parse>['expr'];

/** What lowering found. The checks use it. */
export interface Seen {
  /** Names that no loop binds. */
  readonly roots: Map<string, bigint>;
  readonly functions: Map<string, bigint>;
  /** The ids of named steps, each with the uses of `steps` that name it. */
  readonly steps: Map<string, bigint[]>;
  /** The step ids of `'<id>' in steps`, each with its uses. */
  readonly members: Map<string, bigint[]>;
  /** Other texts, each with its first place. */
  readonly texts: Map<string, bigint>;
  /** The texts that are compared with data, by the ids of their nodes. They are in `texts` only if they occur elsewhere too. */
  readonly compared: Set<bigint>;
  /** Whether `steps` is used without the name of a step, so that a text may be one. */
  usesAllSteps: boolean;
  /**
   * Code that means something else in another language, as sentences. A deploy refuses it; plans of older builds still
   * run.
   */
  readonly foreign: Map<string, bigint>;
  /** Each `.length`. It is a mistake from JavaScript unless the data have a field of that name. */
  readonly lengths: { readonly id: bigint; readonly path: DataPath | null }[];
}

/** Names from a root; `[]` means any item of a list. */
export type DataPath = readonly string[];

export class ExpressionError extends Error {
  constructor(
    message: string,
    readonly id: bigint,
  ) {
    super(message);
  }
}

const MAX_DEPTH = 250;

interface Scope {
  /** The names that loops bind, each with the path of its value. */
  readonly bound: ReadonlyMap<string, DataPath | null>;
  readonly seen: Seen;
  readonly depth: number;
}

/**
 * Rewrites a parsed expression to call functions of ours where they differ from the evaluator's. Paths: `@get`, `@path`
 * and their `has` twins, whose errors name the missing part. Loops: `@tick` limits them, and `@append` collects instead
 * of a chain of concatenations. User code cannot write these names.
 */
export function lower(expr: Expr, seen: Seen): Expr {
  return lowerIn(expr, { bound: new Map(), seen, depth: 0 });
}

function lowerIn(expr: Expr, outer: Scope): Expr {
  const scope = { ...outer, depth: outer.depth + 1 };
  if (scope.depth > MAX_DEPTH) throw new ExpressionError('the expression is nested too deep', expr.id);
  const kind = expr.exprKind;
  switch (kind.case) {
    case 'identExpr':
      return lowerPath(expr, scope, false);
    case 'selectExpr':
      return lowerPath(expr, scope, kind.value.testOnly);
    case 'callExpr':
      return lowerCall(expr, kind.value, scope);
    case 'listExpr':
      return replace(expr, 'listExpr', { ...kind.value, elements: kind.value.elements.map((e) => lowerIn(e, scope)) });
    case 'structExpr':
      return lowerMap(expr, kind.value, scope);
    case 'constExpr':
      return checkText(expr, kind.value, scope);
    case 'comprehensionExpr':
      return lowerLoop(expr, kind.value, scope);
    default:
      return expr;
  }
}

type Kinds = Exclude<Expr['exprKind'], { case: undefined }>;
type ValueOf<C extends Kinds['case']> = Extract<Kinds, { case: C }>['value'];

const COMPARISONS: ReadonlySet<string> = new Set(['_==_', '_!=_', '@in']);

const SEARCHES: ReadonlySet<string> = new Set(['contains', 'startsWith', 'endsWith', 'matches']);

/** A string with `{{…}}` is compared literally, so it equals nothing. */
function checkText(expr: Expr, { constantKind: kind }: ValueOf<'constExpr'>, { seen }: Scope): Expr {
  const isNew = kind.case === 'stringValue' && !seen.texts.has(kind.value) && !seen.compared.has(expr.id);
  if (isNew) seen.texts.set(kind.value, expr.id);
  const path = kind.case === 'stringValue' ? /\{\{\s*([A-Za-z_][\w.-]*)\s*\}\}/.exec(kind.value)?.[1] : undefined;
  if (path === undefined) return expr;
  seen.foreign.set(`\`{{${path}}}\` is not filled in an expression: write \`${path}\` without quotes`, expr.id);
  return expr;
}

/** `.length` is a field in CEL. The caller knows whether the data have it. */
function noteLength(expr: Expr, scope: Scope): void {
  const kind = expr.exprKind;
  if (kind.case !== 'selectExpr' || kind.value.field !== 'length' || kind.value.testOnly) return;
  const { operand } = kind.value;
  if (operand?.exprKind.case === 'identExpr' && operand.exprKind.value.name === 'steps') return;
  scope.seen.lengths.push({ id: expr.id, path: dataPath(expr, scope) });
}

/** Null for anything but a plain path: a computed key, a call. */
function dataPath(expr: Expr, scope: Scope): DataPath | null {
  const { exprKind: kind } = expr;
  if (kind.case === 'identExpr') {
    const { name } = kind.value;
    return scope.bound.has(name) ? (scope.bound.get(name) ?? null) : [name];
  }
  const next = partOf(expr);
  const above = next && dataPath(next.operand, scope);
  if (!next || !above) return null;
  const key = next.part.exprKind.case === 'constExpr' ? next.part.exprKind.value.constantKind : undefined;
  if (key?.case === 'stringValue') return [...above, key.value];
  return key?.case === 'int64Value' ? [...above, '[]'] : null;
}

function lowerCall(expr: Expr, call: ValueOf<'callExpr'>, scope: Scope): Expr {
  const [first] = call.args;
  if (call.function === '_[_]') return lowerPath(expr, scope, false);
  if (call.function === 'has' && call.args.length === 1 && first && isIndex(first))
    return lowerPath(first, scope, true);
  if (!scope.seen.functions.has(call.function)) scope.seen.functions.set(call.function, expr.id);
  const member = call.function === '@in' ? memberOfSteps(call.args, scope) : null;
  if (member !== null) {
    scope.seen.members.set(member.id, [...(scope.seen.members.get(member.id) ?? []), member.at]);
    return replace(expr, 'callExpr', {
      ...call,
      args: call.args.map((arg) => (isText(arg) ? arg : lowerIn(arg, scope))),
    });
  }
  if (COMPARISONS.has(call.function)) noteCompared(call.args, scope);
  // A text that is looked for may well have braces: a placeholder that was left unfilled, say.
  const isSearched = SEARCHES.has(call.function);
  const args = call.args.map((arg) => (isSearched && arg.exprKind.case === 'constExpr' ? arg : lowerIn(arg, scope)));
  if (!call.target) return replace(expr, 'callExpr', { ...call, args });
  return replace(expr, 'callExpr', { ...call, args, target: lowerIn(call.target, scope) });
}

/** Records the texts on one side, alone or in a list, when the other side is data. */
function noteCompared([left, right]: readonly Expr[], scope: Scope): void {
  if (!left || !right) return;
  for (const [data, other] of [
    [left, right],
    [right, left],
  ] as const) {
    if (!isData(data, scope)) continue;
    const texts = other.exprKind.case === 'listExpr' ? other.exprKind.value.elements : [other];
    for (const text of texts.filter(isText)) scope.seen.compared.add(text.id);
  }
}

/** True for a path to a value of the data, false for `steps`, its keys, and what is computed. */
function isData(expr: Expr, scope: Scope): boolean {
  let root = expr;
  for (let next = partOf(root); next; next = partOf(root)) root = next.operand;
  const path = dataPath(root, scope);
  if (path === null) return false;
  const isKey = path[0] === 'steps' && path.length <= 2;
  return root !== expr || !isKey;
}

/** The text of `'<id>' in steps`; null for another membership. */
function memberOfSteps([text, list]: readonly Expr[], { bound }: Scope): { id: string; at: bigint } | null {
  const isSteps = list?.exprKind.case === 'identExpr' && list.exprKind.value.name === 'steps' && !bound.has('steps');
  const constant = text?.exprKind.case === 'constExpr' ? text.exprKind.value.constantKind : undefined;
  return text && isSteps && constant?.case === 'stringValue' ? { id: constant.value, at: text.id } : null;
}

function isText({ exprKind }: Expr): boolean {
  return exprKind.case === 'constExpr' && exprKind.value.constantKind.case === 'stringValue';
}

function lowerMap(expr: Expr, struct: ValueOf<'structExpr'>, scope: Scope): Expr {
  if (struct.messageName !== '') {
    throw new ExpressionError(`there is no type \`${struct.messageName}\`: write a map as { 'key': value }`, expr.id);
  }
  const entries = struct.entries.map((entry) => {
    const keyKind =
      entry.keyKind.case === 'mapKey'
        ? { ...entry.keyKind, value: lowerIn(entry.keyKind.value, scope) }
        : entry.keyKind;
    return entry.value ? { ...entry, keyKind, value: lowerIn(entry.value, scope) } : { ...entry, keyKind };
  });
  return replace(expr, 'structExpr', { ...struct, entries });
}

function lowerLoop(expr: Expr, loop: ValueOf<'comprehensionExpr'>, scope: Scope): Expr {
  const { iterRange, accuInit, loopCondition, loopStep, result } = loop;
  if (!iterRange || !accuInit || !loopCondition || !loopStep || !result) {
    throw new ExpressionError('the loop is not complete', expr.id);
  }
  const range = dataPath(iterRange, scope);
  const item = range && [...range, '[]'];
  const inside = { ...scope, bound: new Map([...scope.bound, [loop.iterVar, item], [loop.accuVar, null]]) };
  const collects = accuInit.exprKind.case === 'listExpr';
  return replace(expr, 'comprehensionExpr', {
    ...loop,
    iterRange: lowerIn(iterRange, scope),
    accuInit: collects ? call(expr.id, '@list', []) : lowerIn(accuInit, scope),
    loopCondition: call(expr.id, '@tick', [lowerIn(loopCondition, inside)]),
    loopStep: lowerIn(collects ? appending(loopStep) : loopStep, inside),
    result: lowerIn(result, inside),
  });
}

/** Replaces `@result + [x]` by `@append(@result, x)`, also in a branch of a filter's conditional. */
function appending(step: Expr): Expr {
  if (step.exprKind.case !== 'callExpr') return step;
  const { function: name, args } = step.exprKind.value;
  const [first, second] = args;
  if (name === '_+_' && first && second?.exprKind.case === 'listExpr') {
    return call(step.id, '@append', [first, ...second.exprKind.value.elements]);
  }
  if (name !== '_?_:_' || !first || !second) return step;
  return call(step.id, name, [first, appending(second), ...args.slice(2)]);
}

/**
 * Turns a chain of `.name` and `[index]` into one call on its root, so that an error can name the whole missing path.
 */
function lowerPath(expr: Expr, scope: Scope, has: boolean): Expr {
  noteLength(expr, scope);
  const parts: Expr[] = [];
  let root = expr;
  for (let next = partOf(root); next; next = partOf(root)) {
    parts.unshift(next.part);
    root = next.operand;
  }
  if (parts.length > MAX_DEPTH) throw new ExpressionError('the path is too long', expr.id);
  const accessors = parts.map((part) => (part.exprKind.case === 'constExpr' ? part : lowerIn(part, scope)));
  const list = withKind(expr.id, {
    case: 'listExpr',
    value: { $typeName: 'cel.expr.Expr.CreateList', elements: accessors, optionalIndices: [] },
  });
  if (root.exprKind.case !== 'identExpr') {
    return call(expr.id, has ? '@has_path' : '@path', [lowerIn(root, scope), text(root.id, '(…)'), list]);
  }
  const spelled = root.exprKind.value.name;
  const name = spelled.startsWith('.') ? spelled.slice(1) : spelled;
  if (spelled === name && scope.bound.has(name)) {
    return parts.length === 0 ? root : call(expr.id, has ? '@has_path' : '@path', [root, text(root.id, name), list]);
  }
  if (!scope.seen.roots.has(name)) scope.seen.roots.set(name, root.id);
  const step = name === 'steps' ? parts[0]?.exprKind : undefined;
  if (step?.case === 'constExpr' && step.value.constantKind.case === 'stringValue') {
    const id = step.value.constantKind.value;
    scope.seen.steps.set(id, [...(scope.seen.steps.get(id) ?? []), root.id]);
  } else if (name === 'steps') scope.seen.usesAllSteps = true;
  return call(expr.id, has ? '@has_get' : '@get', [text(root.id, name), list]);
}

function partOf(expr: Expr): { readonly operand: Expr; readonly part: Expr } | undefined {
  const kind = expr.exprKind;
  if (kind.case === 'selectExpr' && kind.value.operand) {
    return { operand: kind.value.operand, part: text(expr.id, kind.value.field) };
  }
  if (kind.case !== 'callExpr' || kind.value.function !== '_[_]') return undefined;
  const [operand, part] = kind.value.args;
  return operand && part ? { operand, part } : undefined;
}

function isIndex(expr: Expr): boolean {
  return expr.exprKind.case === 'callExpr' && expr.exprKind.value.function === '_[_]';
}

function withKind(id: bigint, exprKind: Kinds): Expr {
  return { $typeName: 'cel.expr.Expr', id, exprKind };
}

function replace<C extends Kinds['case']>(expr: Expr, kind: C, value: ValueOf<C>): Expr {
  return withKind(expr.id, { case: kind, value } as Kinds);
}

function call(id: bigint, name: string, args: Expr[]): Expr {
  return withKind(id, { case: 'callExpr', value: { $typeName: 'cel.expr.Expr.Call', function: name, args } });
}

function text(id: bigint, value: string): Expr {
  const constantKind = { case: 'stringValue', value } as const;
  return withKind(id, { case: 'constExpr', value: { $typeName: 'cel.expr.Constant', constantKind } });
}
