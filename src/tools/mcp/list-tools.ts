import type { Client } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { ServerFault, type ServerTool } from './contract.js';
import { readServerTool } from './read-tool.js';

/** Limits of one server's list of tools. */
const MAX_TOOLS = 20_000;
const MAX_PAGES = 1_000;
/** Pages without a new tool, after which the list counts as ended. */
const MAX_IDLE_PAGES = 3;
/** In characters, of all that is kept of it: each of 20,000 tools may have a long schema, and the whole worker's memory is one. */
const MAX_LIST = 32 * 1_048_576;
const LIST_MS = 60_000;

/** Parsed here and not by the client library, so that one invalid tool does not lose the others. */
const Page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().nullish() });

/**
 * All pages of a server's tools, each name once. A list whose cursor does not move, or whose pages bring nothing new, ends
 * there with what it has. Throws what the client throws, and a ServerFault for a list that is too long.
 */
export async function listServerTools(client: Client, signal: AbortSignal): Promise<readonly ServerTool[]> {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const until = performance.now() + LIST_MS;
  const tools = new Map<string, ServerTool>();
  const seen = new Set<string>();
  let size = 0;
  let idlePages = 0;
  let cursor: string | undefined;
  for (let pages = 1; ; pages += 1) {
    const timeout = Math.max(1, until - performance.now());
    const params = cursor === undefined ? {} : { cursor };
    const page = await client.request({ method: 'tools/list', params }, Page, { signal, timeout });
    const before = tools.size;
    for (const value of page.tools) {
      const tool = readServerTool(value);
      if (!tool || tools.has(tool.name)) continue;
      tools.set(tool.name, tool);
      size += JSON.stringify(tool).length;
    }
    if (size > MAX_LIST) throw new ServerFault(`its list of tools is longer than ${MAX_LIST / 1_048_576} MiB`);
    if (tools.size > MAX_TOOLS) throw new ServerFault(`it lists more than ${MAX_TOOLS} tools`);
    cursor = page.nextCursor ?? undefined;
    idlePages = tools.size > before ? 0 : idlePages + 1;
    if (cursor === undefined || cursor === '' || seen.has(cursor) || idlePages === MAX_IDLE_PAGES) {
      return [...tools.values()];
    }
    if (pages === MAX_PAGES) throw new ServerFault('its list of tools does not end');
    seen.add(cursor);
  }
}
