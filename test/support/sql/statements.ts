import { argumentsOf, type Call, scopeAt, Unresolved, valuesOf } from './evaluate.js';
import { lookUp, type Node, type SourceModule, walk } from './source-modules.js';

/** A statement of the sources, and where it is. */
export interface Statement {
  readonly place: string;
  readonly name: string | null;
  readonly text: string;
}

/** An expression that gives a statement, and the nodes above it. */
interface Sent {
  readonly module: SourceModule;
  readonly node: Node;
  readonly above: readonly Node[];
}

interface Open extends Sent {
  readonly fault: string;
}

const SQL = /^\s*(?:WITH|SELECT|INSERT|UPDATE|DELETE)\b/;

/**
 * The SQL statements of source files: what their calls of `query` send, and other objects that have a name, a text and values.
 * Each comes with every text that it can have, by its source alone or by the calls of the function that it is in.
 * `faults` names those whose texts are unknown even so.
 */
export function statementsOf(modules: readonly SourceModule[]): { statements: Statement[]; faults: string[] } {
  const statements: Statement[] = [];
  const faults: string[] = [];
  const open = new Map<Node, Open[]>();
  for (const { module, node, above } of sentBy(modulesWith(modules, /\bquery\b|\btext\b/))) {
    const fault = collect(statements, { module, node, above });
    const around = above.find((each) => each.type === 'FunctionDeclaration');
    if (fault !== null && around === undefined) faults.push(fault);
    else if (fault !== null && around !== undefined)
      open.set(around, [...(open.get(around) ?? []), { module, node, above, fault }]);
  }
  const calls = callsOf(modules, open);
  for (const [around, sent] of open) {
    const own = calls.filter((call) => call.of === around);
    if (own.length === 0) faults.push(...sent.map(({ fault }) => fault));
    for (const call of own)
      for (const each of sent) {
        const fault = collect(statements, { ...each, call });
        if (fault !== null) faults.push(`${fault}, called at ${call.place}`);
      }
  }
  return { statements, faults };
}

interface PlacedCall extends Call {
  readonly place: string;
}

/** Adds the texts of an expression; answers why it could not. */
function collect(
  statements: Statement[],
  { module, node, above, call }: Sent & { readonly call?: PlacedCall },
): string | null {
  const place = call === undefined ? placeOf(module, node) : `${placeOf(module, node)} by ${call.place}`;
  try {
    for (const { name, text } of valuesOf(node, scopeAt(module, above, call), readQuery)) {
      if (SQL.test(text)) statements.push({ place, name, text });
    }
    return null;
  } catch (error) {
    if (!(error instanceof Unresolved)) throw error;
    return `${place}: ${error.message}`;
  }
}

function readQuery(value: unknown): { readonly name: string | null; readonly text: string } {
  if (typeof value === 'string') return { name: null, text: value };
  const { name = null, text } = (value ?? {}) as Partial<Statement>;
  if (typeof text !== 'string') throw new Unresolved('not a text');
  return { name, text };
}

/** The calls of functions of which a statement depends. */
function callsOf(modules: readonly SourceModule[], open: ReadonlyMap<Node, unknown>): PlacedCall[] {
  const names = new Set(
    [...open.keys()].flatMap((each) => (each.type === 'FunctionDeclaration' && each.id ? [each.id.name] : [])),
  );
  const calls: PlacedCall[] = [];
  for (const module of modulesWith(modules, new RegExp(`\\b(?:${[...names].join('|')})\\(`))) {
    walkAll(module, (node, above) => {
      if (node.type !== 'CallExpression' || node.callee.type !== 'Identifier' || !names.has(node.callee.name)) return;
      const found = lookUp(module, node.callee.name);
      if (found === null || !open.has(found.node)) return;
      calls.push({ of: found.node, given: argumentsOf(node, scopeAt(module, above)), place: placeOf(module, node) });
    });
  }
  return calls;
}

function placeOf(module: SourceModule, node: Node): string {
  return `${module.path}:${module.text.slice(0, node.start).split('\n').length}`;
}

function modulesWith(modules: readonly SourceModule[], pattern: RegExp): SourceModule[] {
  return modules.filter(({ text }) => pattern.test(text));
}

function walkAll(module: SourceModule, visit: (node: Node, above: readonly Node[]) => void): void {
  for (const statement of module.names.body) walk(statement, visit);
}

function sentBy(modules: readonly SourceModule[]): Sent[] {
  return modules.flatMap((module) => {
    const sent: Sent[] = [];
    walkAll(module, (node, above) => {
      if (node.type === 'ObjectExpression' && isNamedText(node) && !isArgumentOfQuery(above))
        sent.push({ module, node, above });
      if (node.type !== 'CallExpression' || !isQuery(node)) return;
      const [first] = node.arguments;
      if (first !== undefined) sent.push({ module, node: first, above });
    });
    return sent;
  });
}

/** `anything.query(…)` of a database; `c.req.query(…)` reads an address. */
function isQuery(node: Node): boolean {
  if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return false;
  const { object, property } = node.callee;
  const isRequest = object.type === 'MemberExpression' && 'name' in object.property && object.property.name === 'req';
  return 'name' in property && property.name === 'query' && !isRequest;
}

function isArgumentOfQuery(above: readonly Node[]): boolean {
  const parent = above.at(-1);
  return parent !== undefined && isQuery(parent);
}

function isNamedText(node: Node & { type: 'ObjectExpression' }): boolean {
  const keys = node.properties.map((each) => (each.type === 'Property' && 'name' in each.key ? each.key.name : ''));
  return keys.includes('name') && keys.includes('text') && keys.includes('values');
}
