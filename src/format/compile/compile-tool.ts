import type { HttpToolPlan, McpToolPlan, ScriptToolPlan, ToolPlan } from '../model.js';
import type { ReadServer } from '../parse/keys/server-keys.js';
import type { Catalog, Found } from '../resolve/catalog.js';
import { placeholdersIn, secretTexts, toolSecrets } from '../resolve/secrets-of.js';
import { filesBeside, programPath, resolveBeside } from '../resolve/tool-files.js';
import { gitBlobId } from './blob-sha.js';
import { defined } from './defined.js';

type Compile = (catalog: Catalog, tool: Found<'tool'>) => ToolPlan;

const TRANSPORTS: Readonly<Record<ToolPlan['transport'], Compile>> = { http, mcp, script };

export function compileTool(catalog: Catalog, tool: Found<'tool'>): ToolPlan {
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

export function isAddress(text: string): boolean {
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

/** A server of an agent's file or of .mcp.json, as the tool that it is. */
export function compileServer({ name, offset: _offset, ...server }: ReadServer, path: string): McpToolPlan {
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
