import { count, optionalCount, parameters, stringArg, text } from '../arguments.js';
import type { AgentTool } from '../contract.js';
import { ok, toolError } from '../outcome.js';
import { decodeText } from '../text-file.js';
import { toolPath } from '../tool-path.js';
import { listView, readView, type ViewDeps } from '../view.js';

const MAX_LINE = 10_000_000;

export function readTool(deps: ViewDeps): AgentTool {
  return {
    ref: 'Read',
    spec: {
      name: 'Read',
      description:
        'Reads a text file of the workspace, like knowledge/x.md, memory/x.md, outputs/x or files/x; steps/<id>.md is the result of an earlier step, saved/<name> a long tool result.',
      parameters: parameters(
        {
          path: text('The path, as Glob lists it.'),
          offset: count('The first line to read; 1 when left out.'),
          limit: count('How many lines to read; all when left out.'),
        },
        ['path'],
      ),
    },
    acts: () => false,
    program: false,
    run: async (args, context) => {
      const path = toolPath(stringArg(args, 'path'));
      const range = {
        offset: optionalCount(args, 'offset', [1, MAX_LINE]) ?? 1,
        limit: optionalCount(args, 'limit', [1, MAX_LINE]),
      };
      const file = await readView(deps, context, path);
      if (typeof file === 'string') return toolError(`${path} cannot be read: ${file}`);
      if (file === null) return toolError(await missing(deps, context, path));
      const content = decodeText(file.content);
      if (content === null) return toolError(`${path} is not text (${file.content.byteLength} bytes): use Bash on it`);
      const outcome = ok(sliceLines(content, range));
      return file.memorySha === null ? outcome : { ...outcome, seen: [{ path, sha: file.memorySha }] };
    },
  };
}

function sliceLines(content: string, { offset, limit }: { offset: number; limit: number | undefined }): string {
  if (offset === 1 && limit === undefined) return content;
  const lines = content.split('\n');
  const picked = lines.slice(offset - 1, limit === undefined ? undefined : offset - 1 + limit);
  return picked.length === 0 ? `(the file has ${lines.length} lines)` : picked.join('\n');
}

async function missing(deps: ViewDeps, context: Parameters<AgentTool['run']>[1], path: string): Promise<string> {
  const inside = [...(await listView(deps, context)).keys()].filter((name) => name.startsWith(`${path}/`));
  if (inside.length === 0) return `there is no file ${path}: list what there is with Glob`;
  return `${path} is a folder; in it: ${inside.slice(0, 50).join(', ')}${inside.length > 50 ? ', …' : ''}`;
}
