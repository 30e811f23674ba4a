import type { Deps } from '../../deps.js';
import type { HttpToolPlan } from '../../format/model.js';
import type { NetAnswer, NetFault } from '../../platform/net/index.js';
import { TokenRefusal } from '../../secrets/index.js';
import { Refusal } from '../../shared/refusal.js';
import type { CallContext, ToolOutcome } from '../contract.js';
import { toolError } from '../outcome.js';
import { isText } from './answer.js';
import { fillBase, fillSecrets } from './fill-secrets.js';
import { below } from './place.js';

export type HttpDeps = Pick<Deps, 'db' | 'blobs' | 'sandbox' | 'net' | 'log' | 'checker'>;

/** What a call asks for, before secrets are put in. */
export interface HttpCall {
  readonly method: string;
  /** Below the base: as written, not yet normalized. */
  readonly path: string;
  /** Query pairs, encoded. */
  readonly query: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly bytes: string | Uint8Array; readonly contentType: string } | null;
  readonly accept?: string;
}

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);
const TIMEOUT_MS = 60_000;
const MAX_TEXT = 5 * 1_048_576;
const MAX_BINARY = 32 * 1_048_576;

/** True for an idempotent method (RFC 9110, 9.2.1). */
export function isRead(method: string): boolean {
  return READS.has(method.toUpperCase());
}

/**
 * Sends one call of a tool: only to URLs below its base, with its headers, into which only this function puts secrets. A
 * returned outcome is an error for the model.
 */
export async function sendCall(
  { net }: HttpDeps,
  { tool, base }: { readonly tool: HttpToolPlan; readonly base: string },
  { call, context }: { readonly call: HttpCall; readonly context: CallContext },
): Promise<NetAnswer | ToolOutcome> {
  try {
    const root = await fillBase(tool, base, context.secrets);
    const own = await fillSecrets(tool, context.secrets);
    const answer = await net.request({
      url: below(root, call.path, call.query),
      within: root,
      httpsOnly: tool.secrets.length > 0,
      method: call.method,
      headers: headersOf(call, own, context),
      ...(call.body && { body: call.body.bytes }),
      timeoutMs: tool.timeoutMs ?? TIMEOUT_MS,
      maxBytes: (headers) => (isText(headers.get('content-type')) ? MAX_TEXT : MAX_BINARY),
      signal: context.signal,
    });
    context.signal.throwIfAborted();
    return answer.kind === 'answer' ? answer : toolError(faultText(answer, call.method));
  } catch (error) {
    // Report a missing token like a server that does not answer.
    if (error instanceof TokenRefusal) return toolError(error.message);
    if (error instanceof Refusal && error.kind === 'refused') return toolError(error.message);
    throw error;
  }
}

/** The tool's own headers override those of a call: no argument can replace a credential. */
function headersOf(
  { method, headers, body, accept = 'application/json, text/*;q=0.9, */*;q=0.8' }: HttpCall,
  own: Readonly<Record<string, string>>,
  { callKey }: CallContext,
): Record<string, string> {
  return {
    accept,
    ...(!isRead(method) && { 'idempotency-key': callKey }),
    ...(body && body.contentType !== '' && { 'content-type': body.contentType }),
    ...lower(headers),
    ...lower(own),
  };
}

export function lower(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function faultText({ message, sent, fault }: NetFault, method: string): string {
  const mayHaveActed = sent && !isRead(method) && fault !== 'redirect';
  return mayHaveActed
    ? `${message}. It was interrupted and may have partly run: find out before you do it again`
    : message;
}
