import { flag, optionalFlag, optionalString, parameters, stringArg, text } from '../arguments.js';
import type { AgentTool, ToolContext } from '../contract.js';
import { ok } from '../outcome.js';
import { decodeText } from '../text-file.js';
import { listView, readView, type ViewDeps } from '../view.js';
import { compileForModel, matchGlob } from './match-glob.js';

const MAX_HITS = 200;
const MAX_LINE = 400;
const MAX_FILE = 1_048_576;
/** How much a search reads before it stops. */
const MAX_TOTAL = 64 * 1_048_576;

export function grepTool(deps: ViewDeps): AgentTool {
  return {
    ref: 'Grep',
    spec: {
      name: 'Grep',
      description: 'Searches the text files of the workspace line by line for a regular expression (RE2).',
      parameters: parameters(
        {
          pattern: text('The regular expression.'),
          path: text(
            'Search only files that match this pattern or lie in this folder, like knowledge or outputs/*.csv.',
          ),
          ignore_case: flag('Whether upper and lower case are the same.'),
        },
        ['pattern'],
      ),
    },
    acts: () => false,
    program: false,
    run: async (args, context) => {
      const within = optionalString(args, 'path');
      const line = compileForModel(`${optionalFlag(args, 'ignore_case') ? '(?i)' : ''}${stringArg(args, 'pattern')}`);
      const hits: string[] = [];
      let total = 0;
      for (const [path, size] of await listView(deps, context)) {
        if (hits.length > MAX_HITS || total > MAX_TOTAL) break;
        if (size > MAX_FILE || !isWithin(path, within)) continue;
        total += size;
        await searchFile(deps, context, { path, line, hits });
      }
      return ok(report(hits));
    },
  };
}

function isWithin(path: string, within: string | undefined): boolean {
  if (within === undefined || within === '' || within === '.') return true;
  const folder = within.replace(/^(\/work\/|\.\/)/, '').replace(/\/+$/, '');
  return path === folder || path.startsWith(`${folder}/`) || matchGlob(within)(path);
}

interface Search {
  readonly path: string;
  readonly line: { test(subject: string): boolean };
  readonly hits: string[];
}

async function searchFile(deps: ViewDeps, context: ToolContext, { path, line, hits }: Search): Promise<void> {
  const file = await readView(deps, context, path);
  const content = file === null || typeof file === 'string' ? null : decodeText(file.content);
  if (content === null) return;
  for (const [index, subject] of content.split('\n').entries()) {
    if (!line.test(subject)) continue;
    hits.push(`${path}:${index + 1}: ${subject.length > MAX_LINE ? `${subject.slice(0, MAX_LINE)}…` : subject}`);
    if (hits.length > MAX_HITS) return;
  }
}

function report(hits: readonly string[]): string {
  if (hits.length === 0) return 'no line matches';
  if (hits.length <= MAX_HITS) return hits.join('\n');
  return `${hits.slice(0, MAX_HITS).join('\n')}\n… more than ${MAX_HITS} lines match: narrow the pattern or the path`;
}
