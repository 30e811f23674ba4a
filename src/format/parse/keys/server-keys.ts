import { listOf, mapOf } from '../list-readers.js';
import { mayHaveKey, nestedKeys } from '../nested-keys.js';
import { type KeyTable, key } from '../read-keys.js';
import { oneOf, type Reader, seconds, word } from '../reader.js';
import { httpUrl, serverCommand } from './common-keys.js';

export const SERVER_NAME = /^[A-Za-z0-9_-]{1,64}$/;

const serverTable = {
  type: key(oneOf(['http', 'sse', 'stdio']), 'How the server is spoken to.'),
  url: key(httpUrl, 'Address of a remote server.'),
  headers: key(mapOf(word), 'Headers; values may hold `${SECRET}`.'),
  command: key(serverCommand, 'Program of a local server.'),
  args: key(listOf(word), 'Its arguments.'),
  env: key(mapOf(word), 'Its environment; values may hold `${SECRET}`.'),
  timeout: key(seconds, 'Seconds that a call may take.'),
} satisfies KeyTable;

export interface ReadServer {
  readonly name: string;
  readonly offset: number;
  readonly via?: 'http' | 'sse';
  readonly url?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly command?: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

const TYPES = {
  http: '`type: http` is a remote server: it has a `url` and no `command`.',
  sse: '`type: sse` is a remote server: it has a `url` and no `command`.',
  stdio: '`type: stdio` is a local server: it has a `command` and no `url`.',
} as const;

/** One entry of `mcpServers`, in an agent's file or in .mcp.json. */
const server: Reader<Omit<ReadServer, 'name'>> = {
  type: 'map',
  read: (node, fail) => {
    const values = nestedKeys(serverTable, node, fail);
    if (values === undefined) return undefined;
    const { type, url, command, headers = {}, args = [], env = {}, timeout } = values;
    if (url === undefined && command === undefined && (mayHaveKey(node, 'url') || mayHaveKey(node, 'command'))) {
      return undefined;
    }
    if ((url === undefined) === (command === undefined)) {
      return fail(node.offset, 'A server has either a `url` or a `command`.');
    }
    if (type !== undefined && (type === 'stdio') !== (command !== undefined)) {
      return fail(node.offset, TYPES[type]);
    }
    return {
      offset: node.offset,
      ...(type === undefined || type === 'stdio' ? {} : { via: type }),
      ...(url === undefined ? {} : { url }),
      ...(command === undefined ? {} : { command }),
      headers,
      args,
      env,
      ...(timeout === undefined ? {} : { timeoutMs: timeout * 1_000 }),
    };
  },
};

const serverMap = mapOf(server, SERVER_NAME);

export const servers: Reader<readonly ReadServer[]> = {
  type: 'map of servers',
  read: (node, fail) => {
    const read = serverMap.read(node, fail);
    return read && Object.entries(read).map(([name, entry]) => ({ ...entry, name }));
  },
};

export interface ReadServers {
  readonly inline: readonly ReadServer[];
  /** Names of servers in .mcp.json. */
  readonly named: readonly { readonly name: string; readonly offset: number }[];
}

/** An agent's `mcpServers`: a map of inline servers, or a list of names and such maps. */
export const agentServers: Reader<ReadServers> = {
  type: 'map of servers, or list of names',
  read: (node, fail) => {
    if (node.entries) return { inline: servers.read(node, fail) ?? [], named: [] };
    const inline: ReadServer[] = [];
    const named: { name: string; offset: number }[] = [];
    for (const item of node.items ?? [node]) {
      if (item.entries) for (const server of servers.read(item, fail) ?? []) inline.push(server);
      else {
        const name = word.read(item, fail);
        if (name !== undefined) named.push({ name, offset: item.offset });
      }
    }
    return { inline, named };
  },
};
