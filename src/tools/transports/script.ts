import type { ScriptToolPlan } from '../../format/model.js';
import { removeFolder } from '../../sandbox/index.js';
import { toJson } from '../../shared/exact-json.js';
import { isRecord, type JsonObject } from '../../shared/json.js';
import { parameters, text } from '../arguments.js';
import type { Operation, ToolContext, ToolOutcome } from '../contract.js';
import { grantedSecret } from '../fill-secrets.js';
import { toolError } from '../outcome.js';
import { type LaneResult, type ProgramDeps, runInLane } from '../program/run-in-lane.js';
import { prepareTool, TOOL_INSIDE } from '../program/tool-folder.js';

const STDERR_TAIL = 4_000;

/** A script tool: arguments as JSON on standard input and as ARG_<NAME>, the answer on standard output. */
export async function scriptTool(deps: ProgramDeps, tool: ScriptToolPlan): Promise<readonly Operation[]> {
  return [
    {
      operation: null,
      description: tool.description,
      parameters: argsSchema(tool),
      acts: () => true,
      program: true,
      run: (args, context) => runScript(deps, tool, { args, context }),
    },
  ];
}

interface Call {
  readonly args: JsonObject;
  readonly context: ToolContext;
}

async function runScript(deps: ProgramDeps, tool: ScriptToolPlan, { args, context }: Call): Promise<ToolOutcome> {
  await requireSecrets(tool, context);
  const env = { PYTHONDONTWRITEBYTECODE: '1', ...argsEnv(args) };
  const folder = await prepareTool(deps, context, tool);
  if (typeof folder === 'string') return toolError(folder);
  const ran = await runInLane(deps, context, {
    argv: folder.argv,
    env,
    stdin: toJson(args),
    runtime: tool.runtime,
    readOnly: [{ host: folder.host, inside: TOOL_INSIDE }],
    timeoutMs: tool.timeoutSeconds === undefined ? null : tool.timeoutSeconds * 1_000,
  }).finally(() => removeFolder(folder.host));
  return 'refused' in ran ? toolError(ran.refused) : answer(tool, ran);
}

function answer(tool: ScriptToolPlan, { result, faults, detail }: LaneResult): ToolOutcome {
  if (faults.length === 0) return { text: result.stdout, isError: false, detail };
  const tail = result.stderr.slice(-STDERR_TAIL).trim();
  const output = tail === '' ? result.stdout.slice(-STDERR_TAIL).trim() : tail;
  return { text: [`${tool.name} failed: ${faults.join('; ')}`, output].join('\n').trim(), isError: true, detail };
}

/** What the model reads: each argument with its meaning, or the JSON Schema that replaces them. */
function argsSchema({ args }: ScriptToolPlan): JsonObject {
  const properties = Object.entries(args).map(([name, meaning]: [string, unknown]) => {
    return [name, isRecord(meaning) ? (meaning as JsonObject) : text(String(meaning))] as const;
  });
  return parameters(Object.fromEntries(properties), []);
}

function argsEnv(args: JsonObject): Record<string, string> {
  const pairs = Object.entries(args).map(([name, value]) => {
    const words = typeof value === 'string' ? value : toJson(value);
    return [`ARG_${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`, words] as const;
  });
  // Values that a variable cannot hold are on standard input only.
  return Object.fromEntries(pairs.filter(([, words]) => Buffer.byteLength(words) < 100_000 && !words.includes('\0')));
}

/** Checks that the step is granted the secrets that the tool declares. */
async function requireSecrets(tool: ScriptToolPlan, { secrets }: ToolContext): Promise<void> {
  for (const name of tool.secrets) await grantedSecret(tool.name, secrets, name);
}
