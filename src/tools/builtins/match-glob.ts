import { compilePattern } from '../../format/values/pattern.js';
import { errorMessage } from '../../shared/refusal.js';
import { BadArgument, parameters, stringArg, text } from '../arguments.js';
import type { AgentTool } from '../contract.js';
import { ok } from '../outcome.js';
import { listView, type ViewDeps } from '../view.js';

/** Parts of a glob and their RE2 source. RE2 does not backtrack, so no pattern hangs the worker. */
const PARTS: readonly (readonly [RegExp, (found: string) => string])[] = [
  [/^\*\*\//, () => '(?:[^/]+/)*'],
  [/^\*\*/, () => '.*'],
  [/^\*/, () => '[^/]*'],
  [/^\?/, () => '[^/]'],
  [/^\{[^{}]*\}/, (found) => `(?:${found.slice(1, -1).split(',').map(translate).join('|')})`],
  [/^\[!?[^\]/]+\]/, (found) => `[${found.slice(1, -1).replace(/^!/, '^').replace(/[\\[]/g, '\\$&')}]`],
  [/^[^*?{[]+|^[\s\S]/, (found) => found.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')],
];

/** Compiles a glob that a model wrote. Ignores a leading `./` or `/work/`. */
export function matchGlob(glob: string): (path: string) => boolean {
  const source = globSource(glob.replace(/^(\/work\/|\.\/)/, ''));
  const pattern = compileForModel(source);
  return (path) => pattern.test(path);
}

/** A compiled RE2 pattern; throws a sentence for the model when it is invalid. */
export function compileForModel(source: string): { test(subject: string): boolean } {
  try {
    return compilePattern(source);
  } catch (error) {
    throw new BadArgument(`the pattern is not valid: ${errorMessage(error)}`);
  }
}

const MAX_PATHS = 500;

export function globTool(deps: ViewDeps): AgentTool {
  return {
    ref: 'Glob',
    spec: {
      name: 'Glob',
      description:
        'Lists the files of the workspace whose path matches a pattern, like knowledge/**/*.md or outputs/*.',
      parameters: parameters(
        { pattern: text('`*` and `?` stay within a folder, `**` does not; {a,b} and [a-z] work.') },
        ['pattern'],
      ),
    },
    acts: () => false,
    program: false,
    run: async (args, context) => {
      const matches = matchGlob(stringArg(args, 'pattern'));
      const paths = [...(await listView(deps, context)).keys()].filter(matches);
      if (paths.length === 0) return ok('no file matches');
      const rest = paths.length - MAX_PATHS;
      return ok(paths.slice(0, MAX_PATHS).join('\n') + (rest > 0 ? `\n… and ${rest} more: narrow the pattern` : ''));
    },
  };
}

function translate(glob: string): string {
  let source = '';
  for (let rest = glob; rest !== ''; ) {
    const [found, write] = match(rest);
    source += write(found);
    rest = rest.slice(found.length);
  }
  return source;
}

function match(rest: string): readonly [string, (found: string) => string] {
  for (const [pattern, write] of PARTS) {
    const found = pattern.exec(rest)?.[0];
    if (found !== undefined) return [found, write];
  }
  throw new BadArgument(`the pattern cannot be read at "${rest}"`);
}

/** The RE2 source of a glob: `*` and `?` stay within a folder, `**` does not; `{a,b}` and `[a-z]` as in a shell. */
function globSource(glob: string): string {
  return `^${translate(glob)}$`;
}
