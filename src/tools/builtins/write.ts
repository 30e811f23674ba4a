import { stringArg } from '../arguments.js';
import type { AgentTool } from '../contract.js';
import { parameters, text } from '../parameters.js';
import { toolPath } from '../tool-path.js';
import { type WriteDeps, writeTarget } from './write-target.js';

export function writeTool(deps: WriteDeps): AgentTool {
  return {
    ref: 'Write',
    spec: {
      name: 'Write',
      description:
        'Writes a whole file: under outputs/ what this step hands over, under files/ shared working files, or in your own memory folder (a file there that exists must be read first).',
      parameters: parameters({ path: text('The path.'), content: text('All of the file.') }, ['path', 'content']),
    },
    acts: () => true,
    program: false,
    run: async (args, context) => {
      const content = Buffer.from(stringArg(args, 'content'), 'utf8');
      return writeTarget(deps, context, { path: toolPath(stringArg(args, 'path')), content });
    },
  };
}
