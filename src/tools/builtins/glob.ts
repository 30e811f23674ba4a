import { stringArg } from '../arguments.js';
import type { AgentTool } from '../contract.js';
import { ok } from '../outcome.js';
import { parameters, text } from '../parameters.js';
import { listView, type ViewDeps } from '../view.js';
import { matchGlob } from './match-glob.js';

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
