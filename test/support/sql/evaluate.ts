import { declarations, lookUp, type Node, type SourceModule } from './source-modules.js';

/** Where an expression stands: its module, and the values of the names of the functions around it. */
export interface Scope {
  readonly module: SourceModule;
  readonly locals: ReadonlyMap<string, () => unknown>;
}

/** Thrown for an expression whose value its source does not determine. */
export class Unresolved extends Error {
  override readonly name = 'Unresolved';
}

type Choose = (key: string, count: number) => number;
let choose: Choose = () => 0;

/**
 * Every value that an expression can have by its source alone. A condition is tried both ways, an index of a table with
 * each of its keys and a parameter with each member of its type; the same condition twice has the same outcome.
 */
export function valuesOf<T>(node: Node, scope: Scope, read: (value: unknown) => T): T[] {
  const values: T[] = [];
  let path: { readonly key: string; pick: number; readonly count: number }[] = [];
  for (;;) {
    const depth = new Map<string, number>();
    const current = path;
    choose = (key, count) => {
      const known = depth.get(key);
      if (known !== undefined) return known;
      const step = current[depth.size] ?? { key, pick: 0, count };
      if (current.length === depth.size) current.push(step);
      depth.set(key, step.pick);
      return step.pick;
    };
    // Read here, since an object's fields are evaluated as they are read.
    values.push(read(evaluate(node, scope)));
    while (path.length > 0 && (path.at(-1)?.pick ?? 0) + 1 >= (path.at(-1)?.count ?? 0)) path = path.slice(0, -1);
    const last = path.at(-1);
    if (last === undefined) return values;
    path = [...path.slice(0, -1), { ...last, pick: last.pick + 1 }];
  }
}

/** A call of one of the functions around a node: its parameters then have these values. */
export interface Call {
  readonly of: Node;
  readonly given: readonly unknown[];
}

/** The scope inside the functions and blocks around a node. */
export function scopeAt(module: SourceModule, above: readonly Node[], call?: Call): Scope {
  let scope: Scope = { module, locals: new Map() };
  for (const node of above) {
    if ('params' in node && Array.isArray(node.params)) {
      scope = withParameters(scope, node.params as Node[], call?.of === node ? call.given : []);
    }
    if (node.type === 'BlockStatement') scope = withBlock(scope, node.body);
    if (node.type === 'ForOfStatement') scope = withLoop(scope, node);
  }
  return scope;
}

/** The arguments of a call, each evaluated if its function uses it: the source need not say what the others are. */
export function argumentsOf(node: Extract<Node, { type: 'CallExpression' }>, scope: Scope): unknown[] {
  return node.arguments.flatMap((each) =>
    each.type === 'SpreadElement'
      ? listOf(evaluate(each.argument, scope), each, scope)
      : [new Lazy(() => evaluate(each, scope))],
  );
}

function withParameters(scope: Scope, params: readonly Node[], given: readonly unknown[]): Scope {
  const locals = new Map(scope.locals);
  params.forEach((param, index) => {
    const type = typeOf(param);
    const key = `${scope.module.path} ${textOf(scope, param)}`;
    const unknown = new Lazy(() => (type === undefined ? unresolved(scope, param)() : valueOfType(type, scope, key)));
    bind(
      locals,
      param,
      param.type === 'RestElement' && given.length > 0 ? given.slice(index).map(forced) : (given[index] ?? unknown),
    );
  });
  return { module: scope.module, locals };
}

const forced = (value: unknown): unknown => (value instanceof Lazy ? value.get() : value);

function typeOf(param: Node): Node | undefined {
  if (param.type === 'AssignmentPattern') return typeOf(param.left);
  return 'typeAnnotation' in param && param.typeAnnotation?.type === 'TSTypeAnnotation'
    ? param.typeAnnotation.typeAnnotation
    : undefined;
}

function withBlock(scope: Scope, body: readonly Node[]): Scope {
  const locals = new Map(scope.locals);
  const inner = { module: scope.module, locals };
  for (const statement of body) {
    for (const [name, node] of declarations(statement)) locals.set(name, () => evaluate(node, inner));
  }
  return inner;
}

function withLoop(scope: Scope, node: Node & { type: 'ForOfStatement' }): Scope {
  const locals = new Map(scope.locals);
  const id = node.left.type === 'VariableDeclaration' ? node.left.declarations[0]?.id : undefined;
  const element = () => {
    const list = listOf(evaluate(node.right, scope), node.right, scope);
    return list[choose(`${scope.module.path} ${node.start}`, list.length)];
  };
  if (id !== undefined) bind(locals, id, new Lazy(element));
  return { module: scope.module, locals };
}

/** A value of a type: one of a union of literals, or an object whose fields are. */
function valueOfType(type: Node, scope: Scope, key: string): unknown {
  const members = literalsOf(type, scope);
  if (members !== null) return members[choose(key, members.length)];
  const { fields, module } = fieldsOf(type, scope);
  const object: Record<string, unknown> = {};
  for (const each of fields) {
    if (each.type !== 'TSPropertySignature' || each.key.type !== 'Identifier') continue;
    const { name } = each.key;
    const own = each.typeAnnotation?.typeAnnotation;
    const get = () =>
      own === undefined ? unresolved(scope, each)() : valueOfType(own, { module, locals: new Map() }, `${key} ${name}`);
    Object.defineProperty(object, name, { enumerable: true, get });
  }
  if (fields.length === 0) throw new Unresolved(`the source does not say what \`${key}\` is`);
  return object;
}

function fieldsOf(type: Node, scope: Scope): { readonly fields: readonly Node[]; readonly module: SourceModule } {
  if (type.type === 'TSTypeLiteral') return { fields: type.members, module: scope.module };
  if (type.type === 'TSInterfaceDeclaration') return { fields: type.body.body, module: scope.module };
  const found = referred(type, scope);
  return found === null
    ? { fields: [], module: scope.module }
    : fieldsOf(found.node, { module: found.module, locals: new Map() });
}

function referred(type: Node, { module }: Scope): ReturnType<typeof lookUp> {
  return type.type === 'TSTypeReference' && type.typeName.type === 'Identifier'
    ? lookUp(module, type.typeName.name)
    : null;
}

function literalsOf(type: Node, scope: Scope): unknown[] | null {
  if (type.type === 'TSBooleanKeyword') return [true, false];
  if (type.type === 'TSNullKeyword') return [null];
  if (type.type === 'TSUndefinedKeyword') return [undefined];
  if (type.type === 'TSLiteralType') return 'value' in type.literal ? [type.literal.value] : null;
  if (type.type === 'TSUnionType') {
    const all = type.types.map((each) => literalsOf(each, scope));
    return all.every((each) => each !== null) ? all.flat() : null;
  }
  const found = referred(type, scope);
  if (found !== null) return literalsOf(found.node, { module: found.module, locals: new Map() });
  if (type.type === 'TSTypeOperator' && type.operator === 'keyof' && type.typeAnnotation.type === 'TSTypeQuery') {
    const { exprName } = type.typeAnnotation;
    const table = exprName.type === 'Identifier' ? lookUp(scope.module, exprName.name) : null;
    return table && Object.keys(evaluate(table.node, { module: table.module, locals: new Map() }) as object);
  }
  return null;
}

function unresolved(scope: Scope, node: Node): () => never {
  return () => {
    throw new Unresolved(`the source does not say what \`${textOf(scope, node)}\` is`);
  };
}

const textOf = ({ module }: Scope, node: Node): string => module.text.slice(node.start, node.end).slice(0, 120);

type Rule<T extends Node['type']> = (node: Extract<Node, { type: T }>, scope: Scope) => unknown;

const RULES: { readonly [T in Node['type']]?: Rule<T> } = {
  Literal: (node) => node.value,
  TemplateLiteral: (node, scope) =>
    node.quasis.reduce((all, quasi, index) => {
      const value = node.expressions[index - 1];
      return `${all}${value === undefined ? '' : stringOf(evaluate(value, scope), value, scope)}${quasi.value.cooked}`;
    }, ''),
  Identifier: (node, scope) => {
    if (node.name === 'undefined') return undefined;
    const local = scope.locals.get(node.name);
    if (local !== undefined) return local();
    const found = lookUp(scope.module, node.name);
    if (found === null) return unresolved(scope, node)();
    return evaluate(found.node, { module: found.module, locals: new Map() });
  },
  ConditionalExpression: (node, scope) =>
    evaluate(isChosen(node.test, scope) ? node.consequent : node.alternate, scope),
  LogicalExpression: (node, scope) => {
    if (node.operator === '??') return evaluate(node.left, scope) ?? evaluate(node.right, scope);
    if (node.operator === '&&') return evaluate(node.left, scope) && evaluate(node.right, scope);
    return evaluate(node.left, scope) || evaluate(node.right, scope);
  },
  BinaryExpression: (node, scope) => {
    const [left, right] = [evaluate(node.left, scope), evaluate(node.right, scope)];
    if (node.operator === '===') return left === right;
    if (node.operator === '!==') return left !== right;
    if (node.operator === '*' && typeof left === 'number' && typeof right === 'number') return left * right;
    if (node.operator === '+' && typeof left === 'string') return left + stringOf(right, node.right, scope);
    return unresolved(scope, node)();
  },
  UnaryExpression: (node, scope) =>
    node.operator === '!' ? !evaluate(node.argument, scope) : unresolved(scope, node)(),
  ArrayExpression: (node, scope) =>
    node.elements.flatMap((each) =>
      each?.type === 'SpreadElement'
        ? listOf(evaluate(each.argument, scope), each, scope)
        : each
          ? [evaluate(each, scope)]
          : [],
    ),
  ObjectExpression: (node, scope) => {
    const object: Record<string, unknown> = {};
    for (const each of node.properties) {
      if (each.type === 'SpreadElement') Object.assign(object, evaluate(each.argument, scope));
      else if (each.key.type === 'Identifier' && !each.computed) lazily(object, each.key.name, each.value, scope);
      else lazily(object, String(evaluate(each.key as Node, scope)), each.value, scope);
    }
    return object;
  },
  MemberExpression: (node, scope) => {
    const object = evaluate(node.object, scope) as Record<string, unknown>;
    if (object === undefined || object === null) return unresolved(scope, node)();
    if (!node.computed && node.property.type === 'Identifier') return object[node.property.name];
    return object[keyOf(node.property, object, scope)];
  },
  CallExpression: (node, scope) => call(node, scope),
  ArrowFunctionExpression: (node, scope) => closure(node, scope),
  FunctionExpression: (node, scope) => closure(node, scope),
  FunctionDeclaration: (node, scope) => closure(node, scope),
  TSAsExpression: (node, scope) => evaluate(node.expression, scope),
  TSSatisfiesExpression: (node, scope) => evaluate(node.expression, scope),
  TSNonNullExpression: (node, scope) => evaluate(node.expression, scope),
  ParenthesizedExpression: (node, scope) => evaluate(node.expression, scope),
  AwaitExpression: (node, scope) => evaluate(node.argument, scope),
};

function evaluate(node: Node, scope: Scope): unknown {
  const rule = RULES[node.type] as ((node: Node, scope: Scope) => unknown) | undefined;
  return rule === undefined ? unresolved(scope, node)() : rule(node, scope);
}

function lazily(object: Record<string, unknown>, key: string, node: Node, scope: Scope): void {
  Object.defineProperty(object, key, { enumerable: true, configurable: true, get: () => evaluate(node, scope) });
}

/** The outcome of a condition: its value if the source says it, else both, one after the other. */
function isChosen(test: Node, scope: Scope): boolean {
  return Boolean(eitherWay(() => evaluate(test, scope), test, scope));
}

function eitherWay(find: () => unknown, test: Node, scope: Scope): unknown {
  try {
    return find();
  } catch (error) {
    if (!(error instanceof Unresolved)) throw error;
    return choose(`${scope.module.path} ${textOf(scope, test)}`, 2) === 0;
  }
}

function keyOf(property: Node, object: object, scope: Scope): string {
  try {
    return String(evaluate(property, scope));
  } catch (error) {
    if (!(error instanceof Unresolved)) throw error;
    const keys = Object.keys(object);
    return keys[choose(`${scope.module.path} ${textOf(scope, property)}`, keys.length)] ?? '';
  }
}

function closure(node: Node, scope: Scope): (...given: unknown[]) => unknown {
  if (!('params' in node) || !('body' in node)) return unresolved(scope, node);
  const params = node.params as readonly Node[];
  const body = node.body as Node;
  return (...given) => {
    const inner = withParameters(scope, params, given);
    if (body.type !== 'BlockStatement') return evaluate(body, inner);
    return returned(body.body, withBlock(inner, body.body));
  };
}

function bind(locals: Map<string, () => unknown>, pattern: Node, value: unknown): void {
  const get = value instanceof Lazy ? value.get : () => value;
  const part = (key: string | number) => new Lazy(() => (get() as Record<string | number, unknown>)[key]);
  if (pattern.type === 'Identifier') locals.set(pattern.name, get);
  if (pattern.type === 'RestElement') bind(locals, pattern.argument, value);
  if (pattern.type === 'AssignmentPattern') bind(locals, pattern.left, value);
  if (pattern.type === 'ArrayPattern')
    pattern.elements.forEach((each, index) => {
      if (each !== null) bind(locals, each, part(index));
    });
  if (pattern.type === 'ObjectPattern') {
    for (const each of pattern.properties)
      if (each.type === 'Property' && each.key.type === 'Identifier') bind(locals, each.value, part(each.key.name));
  }
}

function returned(body: readonly Node[], scope: Scope): unknown {
  for (const statement of body) {
    if (statement.type === 'ReturnStatement' && statement.argument !== null) return evaluate(statement.argument, scope);
    if (statement.type === 'BlockStatement') return returned(statement.body, withBlock(scope, statement.body));
    if (statement.type === 'IfStatement' && isChosen(statement.test, scope))
      return returned([statement.consequent], scope);
  }
  return undefined;
}

/** Methods whose outcome may be either. */
const TESTS = new Set(['startsWith', 'endsWith', 'includes']);

function call(node: Extract<Node, { type: 'CallExpression' }>, scope: Scope): unknown {
  const { callee } = node;
  if (callee.type === 'MemberExpression' && callee.property.type === 'Identifier') {
    const { name } = callee.property;
    const run = () => callMethod(node, callee.object, name, scope);
    return TESTS.has(name) ? eitherWay(run, node, scope) : run();
  }
  const target = evaluate(callee, scope);
  if (typeof target !== 'function') return unresolved(scope, node)();
  return target(...argumentsOf(node, scope));
}

function callMethod(node: Extract<Node, { type: 'CallExpression' }>, on: Node, name: string, scope: Scope): unknown {
  const object = on.type === 'Identifier' && on.name === 'Object' ? Object : evaluate(on, scope);
  const method = (object as Record<string, unknown> | null | undefined)?.[name];
  if (typeof method !== 'function') return unresolved(scope, node)();
  return method.apply(
    object,
    node.arguments.map((each) => evaluate(each, scope)),
  );
}

class Lazy {
  constructor(readonly get: () => unknown) {}
}

function stringOf(value: unknown, node: Node, scope: Scope): string {
  if (['string', 'number', 'boolean'].includes(typeof value)) return String(value);
  return unresolved(scope, node)();
}

function listOf(value: unknown, node: Node, scope: Scope): readonly unknown[] {
  return Array.isArray(value) ? value : unresolved(scope, node)();
}
