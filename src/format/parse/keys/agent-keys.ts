import { checked, ref, refs } from '../list-readers.js';
import { type KeyTable, key } from '../read-keys.js';
import { duration, integer, money, object, type Reader, show, text } from '../reader.js';
import { metadata, network, runtime } from './common-keys.js';
import { agentServers } from './server-keys.js';

export const BUILTINS = ['Read', 'Write', 'Edit', 'Glob', 'Grep', 'Bash'] as const;
/** Built-ins that are enabled only when named. */
export const BY_NAME = ['run_agent', 'ask_human', 'save_to_storage'] as const;

/** Keys of Claude Code that are ignored here, with a warning, so that its agents load. */
export const IGNORED_AGENT_KEYS: ReadonlySet<string> = new Set([
  'permissionMode',
  'hooks',
  'background',
  'isolation',
  'color',
  'effort',
  'initialPrompt',
]);

const memory: Reader<string> = {
  ...checked(text, (value) =>
    /^[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)*\/?$/.test(value.replace(/^memory\//, ''))
      ? undefined
      : `This must be a folder under \`memory/\`, or \`none\`, not ${show(value)}.`,
  ),
  type: 'folder or `none`',
};

export const AGENT_KEYS = {
  name: key(ref, 'The file’s name.'),
  description: key(text, 'What the agent does, and when to use it.'),
  tools: key(refs, 'Tools that it may call; naming a built-in restricts these to those named.'),
  disallowedTools: key(refs, 'Tools that are off: a built-in, a tool, or `tool.operation`.'),
  model: key(ref, 'An alias or `provider/model`.'),
  skills: key(refs, 'Skills that it may use; all that are found when left out.'),
  mcpServers: key(agentServers, 'MCP servers: a map, or names of those in .mcp.json.'),
  secrets: key(refs, 'Secrets that its tools may use.'),
  knowledge: key(refs, 'Files of knowledge/ that are pinned into the prompt.'),
  memory: key(memory, 'The folder under memory/ that it may write; `none` is read-only.'),
  agents: key(refs, 'Agents that it may delegate work to.'),
  budget: key(money, 'Most that one step may cost, in USD.'),
  maxTurns: key(integer(1, 500), 'Most model calls a step; 50 when left out.'),
  timeout: key(duration, 'Most that one step may take.'),
  network: key(network, 'Hosts that its sandbox may reach; none when left out.'),
  runtime: key(runtime, 'Interpreters and packages of its sandbox.'),
  approve: key(refs, 'Calls that wait for a person: `tool` or `tool.operation`.'),
  config: key(object, 'Settings of the model: `temperature`, `maxOutputTokens` and others.'),
  metadata: key(metadata, 'Your own notes; never interpreted.'),
} satisfies KeyTable;
