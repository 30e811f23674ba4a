import { BadArgument, flag, optionalFlag, parameters, stringArg, text } from '../arguments.js';
import type { AgentTool } from '../contract.js';
import { toolError } from '../outcome.js';
import { decodeText } from '../text-file.js';
import { toolPath } from '../tool-path.js';
import { readView } from '../view.js';
import { type WriteDeps, writeTarget } from './write.js';

export function editTool(deps: WriteDeps): AgentTool {
  return {
    ref: 'Edit',
    spec: {
      name: 'Edit',
      description: 'Replaces a piece of text in a file that you may write. The piece must occur exactly once.',
      parameters: parameters(
        {
          path: text('The path.'),
          old_string: text('The exact piece of the file, white space included.'),
          new_string: text('What takes its place.'),
          replace_all: flag('Replace every occurrence.'),
        },
        ['path', 'old_string', 'new_string'],
      ),
    },
    acts: () => true,
    program: false,
    run: async (args, context) => {
      const path = toolPath(stringArg(args, 'path'));
      const edit = { from: stringArg(args, 'old_string'), to: stringArg(args, 'new_string') };
      const all = optionalFlag(args, 'replace_all');
      const file = await readView(deps, context, path);
      if (typeof file === 'string') return toolError(`${path} cannot be read: ${file}`);
      if (file === null) return toolError(`there is no file ${path}: make it with Write`);
      const content = decodeText(file.content);
      if (content === null) return toolError(`${path} is not text: change it with Bash`);
      return writeTarget(deps, context, { path, content: Buffer.from(replace(content, edit, all), 'utf8') });
    },
  };
}

function replace(content: string, { from, to }: { from: string; to: string }, all: boolean): string {
  if (from === '') throw new BadArgument('"old_string" is empty: say which text to replace');
  const found = content.split(from).length - 1;
  if (found === 0) throw new BadArgument('"old_string" is not in the file: Read it and copy the piece exactly');
  if (found > 1 && !all) {
    throw new BadArgument(`"old_string" occurs ${found} times: give more of its surroundings, or set replace_all`);
  }
  return content.split(from).join(to);
}
