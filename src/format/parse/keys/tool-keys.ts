import { listOf, mapOf, ref } from '../list-readers.js';
import { type KeyTable, key } from '../read-keys.js';
import { oneOf, type Reader, seconds, text, word } from '../reader.js';
import { httpUrl, runtime, serverCommand } from './common-keys.js';

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

export type ToolArgs =
  | { readonly kind: 'map'; readonly meanings: Readonly<Record<string, string>> }
  | { readonly kind: 'list'; readonly values: readonly string[] };

const meanings = mapOf(text, /^[A-Za-z_][A-Za-z0-9_]*$/);
const values = listOf(word);

/** A script's arguments are a map of names to meanings; an MCP server's are a list. */
const args: Reader<ToolArgs> = {
  type: 'map, or list',
  read: (node, fail) => {
    if (node.entries) return { kind: 'map', meanings: meanings.read(node, fail) ?? {} };
    return { kind: 'list', values: values.read(node, fail) ?? [] };
  },
};

export const TOOL_KEYS = {
  name: key(ref, 'The file’s name.'),
  description: key(text, 'When to use the tool; decides whether it is called. Required for http and script.'),
  base: key(httpUrl, 'http: the address that every call is relative to.'),
  methods: key(listOf(oneOf(METHODS)), 'http: verbs that are allowed; GET and HEAD when left out.'),
  headers: key(mapOf(word), 'http, mcp: headers; values may hold `${SECRET}`.'),
  openapi: key(ref, 'http: address or file of an OpenAPI document: one typed tool an operation.'),
  run: key(ref, 'script: the program beside the file; a fenced block of the body when left out.'),
  args: key(args, 'script: argument name to meaning; mcp: list of arguments.'),
  timeout: key(seconds, 'Seconds that a call may take.'),
  runtime: key(runtime, 'script: interpreters and packages.'),
  url: key(httpUrl, 'mcp: address of a remote server.'),
  command: key(serverCommand, 'mcp: program of a local server.'),
  env: key(mapOf(word), 'mcp: environment; values may hold `${SECRET}`.'),
} satisfies KeyTable;

/** The keys of each transport. All other keys apply to every transport. */
export const TRANSPORT_KEYS = {
  http: ['base', 'methods', 'headers', 'openapi', 'timeout'],
  mcp: ['url', 'headers', 'command', 'args', 'env', 'timeout'],
  script: ['run', 'args', 'timeout', 'runtime'],
} as const satisfies Record<'http' | 'mcp' | 'script', readonly (keyof typeof TOOL_KEYS)[]>;
