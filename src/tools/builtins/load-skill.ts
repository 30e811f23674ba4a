import { dirname } from 'node:path/posix';
import type { SkillPlan } from '../../format/model.js';
import { parameters, stringArg, text } from '../arguments.js';
import type { AgentTool, ToolContext, ToolOutcome } from '../contract.js';
import { ok, toolError } from '../outcome.js';
import { decodeText } from '../text-file.js';
import { listView, readView, type ViewDeps } from '../view.js';

const MAX_LISTED = 100;

/** Loads a whole skill when a task matches it. Until then the model sees only its name and description. */
export function loadSkillTool(deps: ViewDeps, skills: readonly SkillPlan[]): AgentTool {
  return {
    ref: 'load_skill',
    spec: {
      name: 'load_skill',
      description:
        'Loads the instructions of a skill by its name, and lists the files that come with it. Call it before you do what a skill’s description names.',
      parameters: parameters({ name: text('The skill’s name, as the list of skills has it.') }, ['name']),
    },
    acts: () => false,
    program: false,
    run: async (args, context) => {
      const name = stringArg(args, 'name').trim();
      const skill = skills.find((known) => known.name === name);
      if (skill) return load(deps, context, skill);
      return toolError(`there is no skill "${name}"; these are: ${skills.map((known) => known.name).join(', ')}`);
    },
  };
}

async function load(deps: ViewDeps, context: ToolContext, { name, path }: SkillPlan): Promise<ToolOutcome> {
  const file = await readView(deps, context, path);
  const content = file === null || typeof file === 'string' ? null : decodeText(file.content);
  if (content === null) return toolError(`the skill ${name} cannot be read at ${path}`);
  const folder = dirname(path);
  const beside = [...(await listView(deps, context)).keys()].filter(
    (one) => one.startsWith(`${folder}/`) && one !== path,
  );
  return ok([content.replace(/^\uFEFF/, '').trimEnd(), folderNotice(folder, beside)].join('\n\n'));
}

/** Paths in a skill are relative to its folder, here as in every client of the format. */
function folderNotice(folder: string, files: readonly string[]): string {
  const where = `[This skill's folder is ${folder}/; paths in it are relative to that folder.`;
  if (files.length === 0) return `${where} It has no other files.]`;
  const rest = files.length - MAX_LISTED;
  return [
    `${where} It has these files: Read them, or use them in Bash at /work/${folder}/, when the instructions say so.`,
    ...files.slice(0, MAX_LISTED).map((file) => `- ${file}`),
    ...(rest > 0 ? [`… and ${rest} more: list them with Glob`] : []),
  ]
    .join('\n')
    .concat(']');
}
