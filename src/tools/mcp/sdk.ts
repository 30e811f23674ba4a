import type * as Sdk from '@modelcontextprotocol/client';

let loaded: typeof Sdk | null = null;

/**
 * Loads the MCP client, which takes half a second and 26 MiB, only in a worker whose steps use a server. Call it before
 * `sdk`.
 */
export async function loadSdk(): Promise<void> {
  loaded ??= await import('@modelcontextprotocol/client');
}

export function sdk(): typeof Sdk {
  if (loaded === null) throw new Error('the MCP client is used before it is loaded');
  return loaded;
}
