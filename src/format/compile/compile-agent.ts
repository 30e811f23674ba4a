import type { AgentPlan, HttpToolPlan, McpToolPlan, ScriptToolPlan, SkillPlan, ToolPlan } from '../model.js';
import { BUILTINS, BY_NAME } from '../parse/keys/agent-keys.js';
import type { ReadServer } from '../parse/keys/server-keys.js';
import type { ReadAgent } from '../parse/read-agent.js';
import { type Catalog, type Found, nearestIn, reachableIn } from '../resolve/catalog.js';
import { findPinned } from '../resolve/documents.js';
import { placeholdersIn, secretTexts, toolSecrets } from '../resolve/secrets-of.js';
import { filesBeside, programPath, resolveBeside } from '../resolve/tool-files.js';
import { gitBlobId } from './blob-sha.js';
import { defined } from './defined.js';

const TRANSPORTS: Readonly<Record<ToolPlan['transport'], Compile>> = { http, mcp, script };

export function compileAgent(catalog: Catalog, agent: Found<'agent'>): AgentPlan {
  const { name, keys, prompt } = agent.model;
  const { values } = keys;
  const names = (list: readonly { readonly name: string }[] = []) => list.map((entry) => entry.name);
  return {
    name,
    description: values.description ?? '',
    path: agent.source.path,
    prompt: prompt.pieces,
    builtins: builtinsOf(agent.model),
    tools: compileTools(catalog, agent),
    grants: names(values.tools).filter((grant) => !isBuiltin(grant)),
    skills: compileSkills(catalog, agent.model),
    secrets: names(values.secrets),
    knowledge: names(values.knowledge).flatMap((pin) => findPinned(catalog, name, pin) ?? []),
    memory: memoryOf(agent.model),
    agents: names(values.agents),
    approve: names(values.approve),
    maxTurns: values.maxTurns ?? 50,
    network: values.network ?? [],
    runtime: values.runtime ?? {},
    config: values.config ?? {},
    ...defined({
      model: values.model?.name,
      budgetUsd: values.budget,
      timeoutMs: values.timeout,
      script: scriptOf(catalog, name),
      disallowed: disallowedOf(agent.model),
    }),
  };
}

function isBuiltin(grant: string): boolean {
  return [...BUILTINS, ...BY_NAME].some((builtin) => builtin === grant);
}

/**
 * The six built-ins of `BUILTINS`, or only those of them that `tools:` names, without the disallowed ones. Those of
 * `BY_NAME` are enabled only when named; `agents:` enables `run_agent` too.
 */
function builtinsOf({ keys }: ReadAgent): string[] {
  const granted = new Set((keys.values.tools ?? []).map(({ name }) => name));
  const disallowed = new Set((keys.values.disallowedTools ?? []).map(({ name }) => name));
  const named = BUILTINS.filter((builtin) => granted.has(builtin));
  // An agent with `agents:` gets the tool to delegate.
  if ((keys.values.agents ?? []).length > 0) granted.add('run_agent');
  const on = [...(named.length > 0 ? named : BUILTINS), ...BY_NAME.filter((builtin) => granted.has(builtin))];
  return on.filter((builtin) => !disallowed.has(builtin));
}

function compileTools(catalog: Catalog, agent: Found<'agent'>): ToolPlan[] {
  const { name, keys } = agent.model;
  const plans = new Map<string, ToolPlan>();
  for (const server of keys.values.mcpServers?.inline ?? [])
    plans.set(server.name, compileServer(server, agent.source.path));
  const wanted = [...(keys.values.mcpServers?.named ?? []), ...(keys.values.tools ?? [])];
  for (const grant of wanted) {
    const toolName = grant.name.split('.')[0] ?? grant.name;
    if (plans.has(toolName) || isBuiltin(toolName)) continue;
    const tool = nearestIn(catalog.tools, name, toolName);
    const server = catalog.servers?.model.servers.find((entry) => entry.name === toolName);
    if (tool) plans.set(toolName, compileTool(catalog, tool));
    else if (server) plans.set(toolName, compileServer(server, '.mcp.json'));
  }
  return [...plans.values()];
}

/** Without built-ins: disallowed ones are already left out of the plan's built-ins. */
function disallowedOf({ keys }: ReadAgent): string[] | undefined {
  const words = (keys.values.disallowedTools ?? []).map(({ name }) => name).filter((word) => !isBuiltin(word));
  return words.length === 0 ? undefined : words;
}

function compileSkills(catalog: Catalog, { name, keys }: ReadAgent): SkillPlan[] {
  const all = reachableIn(catalog.skills, name);
  const wanted = keys.values.skills?.map((skill) => skill.name) ?? [...all.keys()].sort();
  return wanted.flatMap((wantedName) => {
    const skill = all.get(wantedName);
    const content = skill && catalog.files.get(skill.source.path)?.content;
    if (!skill || !content) return [];
    return [
      { name: wantedName, description: skill.model.description, path: skill.source.path, sha: gitBlobId(content) },
    ];
  });
}

function memoryOf({ name, keys }: ReadAgent): string | null {
  const folder = keys.values.memory ?? name;
  return folder === 'none' ? null : `memory/${folder.replace(/^memory\//, '').replace(/\/$/, '')}/`;
}

function scriptOf(catalog: Catalog, name: string): AgentPlan['script'] {
  const file = catalog.files.get(`agents/${name}/script.yaml`);
  return file && { path: file.path, sha: gitBlobId(file.content) };
}

type Compile = (catalog: Catalog, tool: Found<'tool'>) => ToolPlan;

function compileTool(catalog: Catalog, tool: Found<'tool'>): ToolPlan {
  return TRANSPORTS[tool.model.transport](catalog, tool);
}

function base(tool: Found<'tool'>) {
  const { name, keys } = tool.model;
  return { name, description: keys.values.description ?? '', path: tool.source.path, secrets: toolSecrets(tool) };
}

function http(_catalog: Catalog, tool: Found<'tool'>): HttpToolPlan {
  const { base: address, methods = ['GET', 'HEAD'], headers = {}, openapi, timeout } = tool.model.keys.values;
  const document = openapi && (isAddress(openapi.name) ? openapi.name : resolveBeside(tool.source.path, openapi.name));
  const timeoutMs = timeout === undefined ? undefined : timeout * 1_000;
  const rest = defined({ base: address, openapi: document, timeoutMs });
  return { ...base(tool), transport: 'http', methods, headers, notes: tool.model.notes, ...rest };
}

function isAddress(text: string): boolean {
  return /^https?:\/\//.test(text);
}

function mcp(_catalog: Catalog, tool: Found<'tool'>): McpToolPlan {
  const { url, headers = {}, command, args, env = {}, timeout } = tool.model.keys.values;
  const rest = defined({ url, command, timeoutMs: timeout === undefined ? undefined : timeout * 1_000 });
  const description = tool.model.keys.values.description ?? serverDescription(tool.model.name);
  return {
    ...base(tool),
    description,
    transport: 'mcp',
    headers,
    args: args?.kind === 'list' ? args.values : [],
    env,
    ...rest,
  };
}

/** Compiles a server of an agent's file or of .mcp.json to a tool. */
function compileServer({ name, offset: _offset, ...server }: ReadServer, path: string): McpToolPlan {
  const secrets = placeholdersIn(secretTexts(server));
  return { name, description: serverDescription(name), path, secrets, transport: 'mcp', ...server };
}

function serverDescription(name: string): string {
  return `The MCP server ${name}.`;
}

function script(catalog: Catalog, tool: Found<'tool'>): ScriptToolPlan {
  const { args, timeout, runtime = {} } = tool.model.keys.values;
  const path = programPath(tool);
  const code = tool.model.program ?? { language: '', code: '' };
  return {
    ...base(tool),
    transport: 'script',
    program: path === undefined ? { kind: 'code', ...code } : { kind: 'file', path },
    args: args?.kind === 'map' ? args.meanings : {},
    runtime,
    files: filesBeside(catalog, tool).map((file) => ({ path: file.path, sha: gitBlobId(file.content) })),
    ...defined({ timeoutSeconds: timeout }),
  };
}
