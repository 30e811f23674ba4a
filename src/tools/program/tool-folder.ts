import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { readRunBlobs, readRunFile } from '../../content/index.js';
import type { ScriptToolPlan } from '../../format/model.js';
import { newId } from '../../shared/ids.js';
import { findInterpreter, KNOWN_LANGUAGES } from '../../shared/interpreters.js';
import type { ToolContext } from '../contract.js';
import type { ViewDeps } from '../view.js';

/** The path of a script tool's folder inside the sandbox. */
export const TOOL_INSIDE = '/tool';

export interface ToolFolder {
  /** Host folder, shown read-only as /tool. */
  readonly host: string;
  readonly argv: readonly string[];
}

/** Writes a script tool's files, from the run's revision; returns a sentence when its program cannot run. */
export async function prepareTool(
  deps: ViewDeps,
  context: ToolContext,
  tool: ScriptToolPlan,
): Promise<ToolFolder | string> {
  const files = await filesOf(deps, context, tool);
  if (typeof files === 'string') return files;
  const host = join(context.folder.root, 'tools', `${tool.name}-${newId()}`);
  await makeFolder(context.folder.root, host);
  for (const [path, content] of files.contents) {
    const file = join(host, path);
    await makeFolder(context.folder.root, dirname(file));
    await writeFile(file, content);
    await chmod(file, 0o755);
  }
  return { host, argv: [...files.interpreter, `${TOOL_INSIDE}/${files.program}`] };
}

interface ToolFiles {
  readonly contents: ReadonlyMap<string, Uint8Array>;
  readonly program: string;
  /** Empty for a program that names its interpreter in its first line. */
  readonly interpreter: readonly string[];
}

async function filesOf(deps: ViewDeps, context: ToolContext, tool: ScriptToolPlan): Promise<ToolFiles | string> {
  const folder = tool.files.length === 0 ? '' : `${dirname(tool.path)}/`;
  const inFolder = (path: string) =>
    folder !== '' && path.startsWith(folder) ? path.slice(folder.length) : basename(path);
  const blobs = await readRunBlobs(
    deps,
    context.run,
    tool.files.map(({ sha }) => sha),
  );
  const contents = new Map(tool.files.map(({ path, sha }) => [inFolder(path), blobs.get(sha) ?? new Uint8Array()]));
  if (tool.program.kind === 'code') {
    const { language, code } = tool.program;
    const interpreter = findInterpreter(language);
    if (interpreter === null)
      return unknownLanguage(tool, language === '' ? 'a code block without a language' : language);
    const program = `.program.${interpreter.extension}`;
    return { contents: contents.set(program, Buffer.from(code, 'utf8')), program, interpreter: interpreter.argv };
  }
  const program = inFolder(tool.program.path);
  if (!contents.has(program)) {
    const file = await readRunFile(deps, context.run, tool.program.path);
    if (file === null) return `the program ${tool.program.path} of tool ${tool.name} is not there: check its run:`;
    contents.set(program, file.content);
  }
  return withInterpreter(tool, { contents, program });
}

function withInterpreter(tool: ScriptToolPlan, files: Omit<ToolFiles, 'interpreter'>): ToolFiles | string {
  const ending = extname(files.program).slice(1);
  const interpreter = findInterpreter(ending);
  if (interpreter !== null) return { ...files, interpreter: interpreter.argv };
  const start = Buffer.from(files.contents.get(files.program) ?? []).subarray(0, 2);
  if (start.toString('latin1') === '#!') return { ...files, interpreter: [] };
  return unknownLanguage(tool, files.program);
}

function unknownLanguage(tool: ScriptToolPlan, what: string): string {
  return `tool ${tool.name} cannot run ${what}: write it in ${KNOWN_LANGUAGES}, or begin the file with a #! line`;
}

/** Creates a folder that other users can enter, whatever the umask, since programs may run as another user. */
async function makeFolder(root: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (let made = folder; made.length > root.length; made = dirname(made)) await chmod(made, 0o755);
}
