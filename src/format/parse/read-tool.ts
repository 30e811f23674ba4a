import { checkClosed } from './check-closed.js';
import { checkIgnoredKeys } from './ignored/check-ignored-keys.js';
import { TOOL_KEYS, TRANSPORT_KEYS } from './keys/tool-keys.js';
import type { OpenFile } from './open-file.js';
import { type KeyValues, missingKey, readKeys } from './read-keys.js';
import { report, unixLines } from './source.js';
import { withoutComments } from './without-comments.js';

export interface ReadTool {
  readonly kind: 'tool';
  readonly name: string;
  readonly transport: 'http' | 'mcp' | 'script';
  readonly keys: KeyValues<typeof TOOL_KEYS>;
  /** The first fenced block of the body, which is a script's program when `run` is left out. */
  readonly program?: { readonly language: string; readonly code: string };
  /** The body without comments. */
  readonly notes: string;
}

export function readTool(file: OpenFile, name: string): ReadTool {
  const keys = readKeys(file, TOOL_KEYS, { node: file.node, kind: 'tool', sound: file.sound });
  const transport = transportOf(keys);
  // If a key that decides the kind is misspelled, the tool's kind is unknown.
  const isClear = DECIDING.every((key) => keys.misspelt(key) === undefined);
  if (isClear) reportForeignKeys(file, keys, transport);
  // An MCP server describes its own tools. Other tools need a description, by which models call them.
  if (file.sound && isClear && transport !== 'mcp' && !keys.may('description')) {
    report(file, 0, missingKey('tool', 'description'));
  }
  checkClosed(file);
  checkIgnoredKeys(file, TOOL_KEYS, 'tool');
  const body = unixLines(file.source.text.slice(file.bodyStart));
  const program = firstFence(body);
  const args = keys.values.args;
  if (isClear && args && args.kind !== (transport === 'mcp' ? 'list' : 'map')) {
    const wants = transport === 'mcp' ? 'a list of arguments' : 'a map of argument names to meanings';
    report(file, keys.at('args'), { code: 'tool/bad-value', message: `\`args\`: This must be ${wants}.` });
  }
  if (file.sound && isClear && transport === 'script' && !keys.may('run') && program === undefined) {
    const message = 'This tool has no program.';
    const hint = 'Name it in `run:`, put it in a fenced code block, or give the tool a `base:` or `url:`.';
    report(file, 0, { code: 'tool/bad-value', message, hint });
  }
  return { kind: 'tool', name, transport, keys, ...(program ? { program } : {}), notes: withoutComments(body).trim() };
}

/** Keys that make a tool http or mcp. */
const DECIDING = ['base', 'openapi', 'url', 'command'] as const;

function transportOf(keys: KeyValues<typeof TOOL_KEYS>): ReadTool['transport'] {
  if (keys.has('base') || keys.has('openapi')) return 'http';
  return keys.has('url') || keys.has('command') ? 'mcp' : 'script';
}

function reportForeignKeys(file: OpenFile, keys: KeyValues<typeof TOOL_KEYS>, transport: ReadTool['transport']): void {
  const own: readonly string[] = TRANSPORT_KEYS[transport];
  for (const key of Object.keys(TOOL_KEYS) as (keyof typeof TOOL_KEYS)[]) {
    if (['name', 'description', ...own].includes(key) || !keys.has(key)) continue;
    const message = `\`${key}\` has no meaning in a tool of kind ${transport}.`;
    const hint = '`base` or `openapi` makes a tool http, `url` or `command` mcp; else it is a script.';
    report(file, keys.at(key), { code: 'tool/bad-value', message, hint });
  }
  if (keys.has('url') && keys.has('command')) {
    report(file, keys.at('command'), {
      code: 'tool/bad-value',
      message: 'A server has either a `url` or a `command`.',
    });
  }
}

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)[^\n`]*$/;

/** The first fenced block of a body with unix line ends. The fence check reports an unclosed one. */
function firstFence(body: string): { language: string; code: string } | undefined {
  const lines = body.split('\n');
  const open = lines.findIndex((line) => FENCE.test(line));
  const [, fence = '', language = ''] = FENCE.exec(lines[open] ?? '') ?? [];
  if (open < 0) return undefined;
  const rest = lines.slice(open + 1);
  const close = rest.findIndex((line) => new RegExp(`^ {0,3}${fence}${fence[0]}*[ \\t]*$`).test(line));
  return { language, code: `${rest.slice(0, close < 0 ? undefined : close).join('\n')}\n` };
}
