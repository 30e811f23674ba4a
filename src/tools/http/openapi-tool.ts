import type { HttpToolPlan } from '../../format/model.js';
import type { ApiOperation } from '../../format/openapi/api-operation.js';
import type { Operation, ToolContext } from '../contract.js';
import { unusable } from '../transports/unusable.js';
import { type LoadedDocument, loadDocument } from './openapi/load-document.js';
import { operationTool } from './openapi/operation-tool.js';
import type { HttpDeps } from './request.js';

/** One typed tool for each operation of the document whose method the tool allows. */
export async function openapiTool(
  deps: HttpDeps,
  tool: HttpToolPlan & { readonly openapi: string },
  context: ToolContext,
): Promise<readonly Operation[]> {
  const document = await loadDocument(deps, context, tool.openapi);
  if (typeof document === 'string') return [unusable(null, `tool ${tool.name} cannot be used: ${document}`)];
  const allowed = document.operations.filter(({ api }) => tool.methods.includes(api.method));
  if (allowed.length === 0) {
    const methods = tool.methods.join(', ');
    return [
      unusable(null, `tool ${tool.name} cannot be used: its document has no operation of the methods ${methods}`),
    ];
  }
  return allowed.map((typed) => {
    const base = baseOf(tool, document, typed.api);
    if ('fault' in base) return unusable(typed.api.id, `${tool.name}.${typed.api.id} cannot be called: ${base.fault}`);
    return operationTool(deps, { tool, base: base.url }, typed);
  });
}

/** The base URL of an operation: the one in the tool's file, else the one in its document. */
function baseOf(
  tool: HttpToolPlan,
  { address }: LoadedDocument,
  { servers, serversAt }: Pick<ApiOperation, 'servers' | 'serversAt'>,
): { readonly url: string } | { readonly fault: string } {
  if (tool.base !== undefined) return { url: tool.base };
  const [server = URL.canParse(address) ? '/' : undefined] = servers;
  const from = URL.canParse(address) ? address : undefined;
  if (server === undefined || !URL.canParse(server, from)) {
    return { fault: 'its document names no server: give the tool a `base:`' };
  }
  const url = new URL(server, from);
  // The author of a fetched document must not choose where credentials go, nor may a document that it refers to.
  const isElsewhere = from !== undefined || URL.canParse(serversAt);
  const isOwn = from !== undefined && url.origin === new URL(from).origin;
  if (isElsewhere && !isOwn && mayHoldCredentials(tool)) {
    return { fault: `its document sends calls on to ${url.host}, and the tool has credentials: give it a \`base:\`` };
  }
  return { url: url.href };
}

/** Headers that hold no credential. Any other may contain a literal key. */
const PLAIN_HEADERS: ReadonlySet<string> = new Set(['accept', 'accept-language', 'content-type', 'user-agent']);

function mayHoldCredentials({ secrets, headers }: HttpToolPlan): boolean {
  return secrets.length > 0 || Object.keys(headers).some((name) => !PLAIN_HEADERS.has(name.toLowerCase()));
}
