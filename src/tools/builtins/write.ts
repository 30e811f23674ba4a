import type { Deps } from '../../deps.js';
import { parameters, stringArg, text } from '../arguments.js';
import type { AgentTool, ToolContext, ToolOutcome } from '../contract.js';
import { writeLaneFile } from '../lane/lane-files.js';
import { ok, toolError } from '../outcome.js';
import { toolPath } from '../tool-path.js';
import { writeToMemory } from './memory-target.js';

const MAX_WRITE = 8 * 1_048_576;

/** Errors when a program left another entry at the path. */
const CANNOT: Readonly<Record<string, string>> = {
  EISDIR: 'there is a folder of this name',
  ENOTEMPTY: 'there is a folder of this name',
  EEXIST: 'there is a folder of this name',
  ENOTDIR: 'a part of the path is a file, or a link',
  ELOOP: 'a part of the path is a symbolic link',
  EACCES: 'its folder is closed',
  ENAMETOOLONG: 'the name is too long',
};

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

export type WriteDeps = Pick<Deps, 'db' | 'blobs' | 'sandbox'>;

interface Target {
  readonly path: string;
  readonly content: Uint8Array;
}

/** Writes a whole file where an agent may write: outputs/, files/, and its folder of memory. */
export async function writeTarget(deps: WriteDeps, context: ToolContext, target: Target): Promise<ToolOutcome> {
  const { path, content } = target;
  if (content.byteLength > MAX_WRITE) return toolError('a file written at once holds at most 8 MiB: make it with Bash');
  const { memory } = context.agent;
  if (memory !== null && path.startsWith(memory)) return writeToMemory(deps, context, target);
  if (!/^(outputs|files)\//.test(path)) return toolError(whereToWrite(path, memory));
  try {
    await writeLaneFile({ work: context.folder.work, path, content, uid: deps.sandbox.uid });
  } catch (error) {
    const words = CANNOT[(error as NodeJS.ErrnoException).code ?? ''];
    if (words === undefined) throw error;
    return toolError(`${path} cannot be written: ${words}`);
  }
  return ok(`wrote ${path} (${content.byteLength} bytes)`);
}

function whereToWrite(path: string, memory: string | null): string {
  const places = ['outputs/', 'files/', ...(memory === null ? [] : [memory])];
  return `${path} is not yours to write: you may write under ${places.join(', ')}`;
}
