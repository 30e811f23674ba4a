import { type CelResult, parse, plan } from '@bufbuild/cel';
import { isRecord } from '../../shared/json.js';
import { Lru } from '../../shared/lru.js';
import { foreignSpelling, functionHint } from './foreign.js';
import { environment, isFunction } from './functions.js';
import { type DataPath, type Expr, ExpressionError, lower, type Seen } from './lower.js';

const OTHERS: ReadonlySet<string> = new Set([
  ...['_+_', '_-_', '_*_', '_/_', '_%_', '-_'],
  ...['size', 'int', 'uint', 'double', 'string', 'bytes', 'timestamp', 'duration'],
]);

const MAX_LENGTH = 4_000;

interface Broken {
  readonly ok: false;
  readonly message: string;
  /** Into the source, in UTF-16 code units. */
  readonly offset: number;
}

export interface Program {
  readonly ok: true;
  /** Names that no loop binds, each with its first offset. */
  readonly roots: ReadonlyMap<string, number>;
  /** The ids of named steps, each with the offsets of `steps` before it. */
  readonly steps: ReadonlyMap<string, readonly number[]>;
  /** The step ids of `'<id>' in steps`, each with the offsets of its texts. */
  readonly members: ReadonlyMap<string, readonly number[]>;
  /** Texts that may be the id of a step: those of `members`, and all that are not compared with data where `steps` is used without one. With their places. */
  readonly stepTexts: ReadonlyMap<string, number>;
  readonly mayBeBoolean: boolean;
  /** The first construct that a deploy refuses although it can be evaluated. */
  readonly foreign: Broken | null;
  /** Each `.length`, which a deploy refuses unless the data have a field of that name. */
  readonly lengths: readonly { readonly path: DataPath | null; readonly offset: number }[];
  run(): CelResult;
}

const programs = new Lru<string, Program | Broken>(500);

export function compile(source: string): Program | Broken {
  if (source.length > MAX_LENGTH) return broken(`an expression has at most ${MAX_LENGTH} characters`, MAX_LENGTH);
  return programs.get(source) ?? programs.set(source, compileFresh(source));
}

function compileFresh(source: string): Program | Broken {
  if (source.trim() === '') return broken('an expression is missing', 0);
  try {
    const { expr, sourceInfo } = parse(source);
    const at = (id: bigint) => sourceInfo?.positions[String(id)] ?? 0;
    return build(expr, at);
  } catch (error) {
    return foreign(source) ?? parseFailure(error);
  }
}

/** Source that does not parse may be another language. Then a hint helps more than the parser's message. */
function foreign(source: string): Broken | null {
  const found = foreignSpelling(source);
  return found && broken(found.message, found.offset);
}

function build(expr: Parameters<typeof lower>[0], at: (id: bigint) => number): Program | Broken {
  const seen: Seen = {
    roots: new Map(),
    functions: new Map(),
    steps: new Map(),
    members: new Map(),
    texts: new Map(),
    compared: new Set(),
    usesAllSteps: false,
    foreign: new Map(),
    lengths: [],
  };
  try {
    const lowered = lower(expr, seen);
    for (const [name, id] of seen.functions) {
      if (!isFunction(name)) return broken(unknownFunction(name), at(id));
    }
    const run = plan(environment, lowered);
    const roots = new Map(Array.from(seen.roots, ([name, id]) => [name, at(id)]));
    const [foreign = null] = Array.from(seen.foreign, ([message, id]) => broken(message, at(id)));
    const steps = new Map(Array.from(seen.steps, ([step, ids]) => [step, ids.map(at)]));
    const members = new Map(Array.from(seen.members, ([step, ids]) => [step, ids.map(at)]));
    const texts = Array.from(seen.texts, ([text, id]) => [text, at(id)] as const);
    const stepTextPairs = Array.from(members, ([step, [place = 0]]) => [step, place] as const);
    const stepTexts = new Map([...stepTextPairs, ...(seen.usesAllSteps ? texts : [])]);
    const lengths = seen.lengths.map(({ id, path }) => ({ path, offset: at(id) }));
    return {
      ok: true,
      roots,
      steps,
      members,
      stepTexts,
      mayBeBoolean: mayBeBoolean(expr),
      foreign,
      lengths,
      run: () => run({}),
    };
  } catch (error) {
    return error instanceof ExpressionError ? broken(error.message, at(error.id)) : parseFailure(error);
  }
}

function unknownFunction(name: string): string {
  if (name === 'has') return 'has() takes a path with a dot, like has(input.email)';
  const write = functionHint(name);
  if (write !== undefined) return `there is no function \`${name}\` in CEL: write ${write}`;
  if (/^[\w.]+$/.test(name)) return `there is no function \`${name}\``;
  return `the operator \`${name.replaceAll('_', ' ').trim()}\` is not supported`;
}

/**
 * Converts a parser's error, which has a place. The parser is recursive, so a deep source may also exhaust the stack.
 */
function parseFailure(error: unknown): Broken {
  if (error instanceof RangeError) return broken('the expression is nested too deep', 0);
  const place = isRecord(error) ? error.location : undefined;
  const start = isRecord(place) && isRecord(place.start) ? place.start.offset : 0;
  const found = isRecord(error) && typeof error.found === 'string' ? error.found : '';
  if (isRecord(error) && 'found' in error) {
    return broken(found === '' ? 'the expression ends too early' : `\`${found}\` does not belong here`, Number(start));
  }
  return broken(error instanceof Error ? error.message : 'it is not a CEL expression', Number(start));
}

function broken(message: string, offset: number): Broken {
  return { ok: false, message, offset };
}

/** False when the parsed expression cannot result in true or false for any data. */
function mayBeBoolean({ exprKind: kind }: Expr): boolean {
  if (kind.case === 'constExpr') return kind.value.constantKind.case === 'boolValue';
  if (kind.case === 'listExpr' || kind.case === 'structExpr') return false;
  // `map` and `filter` start with a list and result in one.
  if (kind.case === 'comprehensionExpr') return kind.value.accuInit?.exprKind.case !== 'listExpr';
  if (kind.case !== 'callExpr') return true;
  const { function: name, args } = kind.value;
  return name === '_?_:_' ? args.slice(1).some(mayBeBoolean) : !OTHERS.has(name);
}
