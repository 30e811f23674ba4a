import { isCelError } from '@bufbuild/cel';
import { closest } from '../../shared/closest.js';
import type { Json } from '../../shared/json.js';
import { toPlain } from './convert.js';
import { nameHint } from './foreign.js';
import { TOO_COSTLY, withMeter } from './meter.js';
import { isTypeName } from './paths.js';
import { compile, type Program } from './program.js';

export interface CelScope {
  readonly roots: readonly string[];
  /** Whether a schema declares the field at this path; `[]` means any item of a list. */
  readonly hasField?: (path: readonly string[]) => boolean;
}

/** `.length` is JavaScript. In CEL it is a field of that name, which nearly no run has. */
const NO_LENGTH =
  'there is no `.length` in CEL: write `size(input.items)`, or declare the field in the schema, or write `input["length"]`';

/**
 * Checks that `source` is CEL and uses only the root variables in `roots`. `steps` are the ids that it names as
 * `steps.<id>`. `hasField` answers whether the schemas of the data declare a path. `mayBeBoolean` is false when the
 * result cannot be true or false for any data. `offset` counts UTF-16 code units in the source.
 */
export function checkCel(
  source: string,
  { roots, hasField }: CelScope,
):
  | {
      ok: true;
      steps: readonly string[];
      /**
       * Texts that may be the id of a step, with their offsets: in `'<id>' in steps`, and where `steps` is used without
       * an id.
       */
      stepTexts: ReadonlyMap<string, number>;
      mayBeBoolean: boolean;
    }
  | { ok: false; message: string; offset: number } {
  const program = compile(source);
  if (!program.ok) return program;
  if (program.foreign) return program.foreign;
  const counted = program.lengths.find(({ path }) => path === null || !hasField?.(path));
  if (counted) return { ok: false, message: NO_LENGTH, offset: counted.offset };
  for (const [name, offset] of program.roots) {
    if (!roots.includes(name) && !isTypeName(name)) return { ok: false, message: unknownRoot(name, roots), offset };
  }
  const { stepTexts, mayBeBoolean } = program;
  return { ok: true, steps: [...program.steps.keys()], stepTexts, mayBeBoolean };
}

/**
 * Replaces the ids of steps in `steps.<id>`, `steps["<id>"]` and `"<id>" in steps`. Leaves unchanged ids that are
 * written in another way (with an escape, or brackets around `steps`), and source that does not compile.
 */
export function renameSteps(source: string, ids: ReadonlyMap<string, string>): string {
  const program = compile(source);
  if (!program.ok) return source;
  const renamedIn = (named: Program['steps'], before: RegExp) =>
    [...named].flatMap(([from, places]) => {
      const to = ids.get(from);
      return to === undefined ? [] : [...new Set(places)].map((place) => ({ place, from, to, before }));
    });
  const renamed = [...renamedIn(program.steps, BEFORE_ID), ...renamedIn(program.members, BEFORE_MEMBER)];
  return renamed.sort((a, b) => b.place - a.place).reduce(renameAt, source);
}

/** The text between the offset of a use and its id. The group is the quote around the id. */
const BEFORE_ID = /\.?\s*steps\s*(?:\.\s*|\[\s*(["']))/y;
const BEFORE_MEMBER = /(["'])/y;

interface Renaming {
  readonly place: number;
  readonly from: string;
  readonly to: string;
  readonly before: RegExp;
}

function renameAt(source: string, { place, from, to, before: named }: Renaming): string {
  named.lastIndex = place;
  const found = named.exec(source);
  const rest = source.slice(named.lastIndex);
  const isWhole = found?.[1] === undefined ? /^\w+/.exec(rest)?.[0] === from : rest.startsWith(from + found[1]);
  return found && isWhole ? source.slice(0, named.lastIndex) + to + rest.slice(from.length) : source;
}

/**
 * Evaluates `source` over plain JSON, within a budget of work. JSON numbers are doubles and mix with ints. `has()` is
 * false for any missing part; any other use of a missing path fails and names the path.
 */
export function evaluateCel(
  source: string,
  bindings: Readonly<Record<string, Json>>,
): { ok: true; value: Json } | { ok: false; message: string } {
  const program = compile(source);
  if (!program.ok) return { ok: false, message: program.message };
  return withMeter(bindings, (meter) => {
    try {
      const value = program.run();
      if (meter.left < 0) return { ok: false, message: TOO_COSTLY };
      return isCelError(value) ? { ok: false, message: value.message } : { ok: true, value: toPlain(value) };
    } catch (error) {
      return { ok: false, message: messageOf(error) };
    }
  });
}

function messageOf(error: unknown): string {
  if (error instanceof RangeError) return TOO_COSTLY;
  return error instanceof Error ? error.message : 'the expression failed';
}

function unknownRoot(name: string, roots: readonly string[]): string {
  const near = closest(name, roots);
  const hint = near === undefined ? nameHint(name) : `did you mean \`${near}\`?`;
  return `there is no \`${name}\` here: an expression starts at ${roots.map((root) => `\`${root}\``).join(', ')}; ${hint}`;
}
