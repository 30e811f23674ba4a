import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Node, parseSync } from 'oxc-parser';

/** A name of another module: what is imported from where. */
interface Elsewhere {
  readonly from: string;
  readonly name: string;
}

interface Names {
  readonly body: readonly Node[];
  /** Constants, functions and types by their name, exported or not. */
  readonly declared: ReadonlyMap<string, Node>;
  /** What is imported or exported from elsewhere, by its name here. */
  readonly elsewhere: ReadonlyMap<string, Elsewhere>;
}

/** A source file. It is parsed at first use, since that is most of the work. */
export class SourceModule {
  #names: Names | undefined;

  constructor(
    readonly path: string,
    readonly text: string,
  ) {}

  get names(): Names {
    this.#names ??= parseModule(this.path, this.text);
    return this.#names;
  }
}

/** Our own source files, without what is generated. */
export function trackedSources(): SourceModule[] {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', 'src'], { encoding: 'utf8' });
  return listed.split('\n').flatMap((path) => (path.endsWith('.ts') ? (sourceModule(path) ?? []) : []));
}

const modules = new Map<string, SourceModule | null>();

/** The module of a path from the root of the repository; null when there is none, as of a package. */
export function sourceModule(path: string): SourceModule | null {
  const known = modules.get(path);
  if (known !== undefined) return known;
  const read = existsSync(path) ? new SourceModule(path, readFileSync(path, 'utf8')) : null;
  modules.set(path, read);
  return read;
}

function parseModule(path: string, text: string): Names {
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const declared = new Map<string, Node>();
  const elsewhere = new Map<string, Elsewhere>();
  for (const statement of program.body) {
    const exported = statement.type === 'ExportNamedDeclaration' ? statement : null;
    for (const [name, node] of declarations(exported?.declaration ?? statement)) declared.set(name, node);
    if (statement.type === 'ImportDeclaration') {
      for (const each of statement.specifiers)
        if (each.type === 'ImportSpecifier')
          elsewhere.set(each.local.name, { from: resolve(path, statement.source.value), name: nameOf(each.imported) });
    }
    for (const each of exported?.source ? exported.specifiers : [])
      elsewhere.set(nameOf(each.exported), {
        from: resolve(path, exported?.source?.value ?? ''),
        name: nameOf(each.local),
      });
  }
  return { body: program.body, declared, elsewhere };
}

/** The names that one statement declares, each with its initial value, function or type. */
export function declarations(node: Node): [string, Node][] {
  if (node.type === 'VariableDeclaration')
    return node.declarations.flatMap(({ id, init }): [string, Node][] =>
      id.type === 'Identifier' && init !== null ? [[id.name, init]] : [],
    );
  if (node.type === 'FunctionDeclaration' && node.id !== null) return [[node.id.name, node]];
  if (node.type === 'TSInterfaceDeclaration') return [[node.id.name, node]];
  if (node.type === 'TSTypeAliasDeclaration') return [[node.id.name, node.typeAnnotation]];
  return [];
}

/** What a name of the module means: its declaration, and the module that has it. */
export function lookUp(module: SourceModule, name: string): { module: SourceModule; node: Node } | null {
  const node = module.names.declared.get(name);
  if (node !== undefined) return { module, node };
  const other = module.names.elsewhere.get(name);
  const target = other === undefined ? null : sourceModule(other.from);
  return target === null || other === undefined ? null : lookUp(target, other.name);
}

function resolve(from: string, specifier: string): string {
  return specifier.startsWith('.') ? join(dirname(from), specifier.replace(/\.js$/, '.ts')) : specifier;
}

function nameOf(node: { readonly type: string; readonly name?: string; readonly value?: unknown }): string {
  return node.name ?? String(node.value);
}

/** Calls `visit` with each node under `node`, and with the nodes above it, innermost last. */
export function walk(
  node: Node,
  visit: (node: Node, above: readonly Node[]) => void,
  above: readonly Node[] = [],
): void {
  visit(node, above);
  const inside = [...above, node];
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) walk(child, visit, inside);
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

export type { Node };
