import type { Deps } from '../../deps.js';
import type { HttpToolPlan } from '../../format/model.js';
import { hasParentSegment, type NetAnswer, type NetFault } from '../../platform/net/index.js';
import { TokenRefusal } from '../../secrets/index.js';
import { Refusal } from '../../shared/refusal.js';
import { BadArgument } from '../arguments.js';
import type { CallContext, StepSecrets, ToolOutcome } from '../contract.js';
import { fillText } from '../fill-secrets.js';
import { toolError } from '../outcome.js';
import { isText } from './answer.js';

/** What a header's value may hold (RFC 9110, 5.5). */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

export type HttpDeps = Pick<Deps, 'db' | 'blobs' | 'sandbox' | 'net' | 'log' | 'checker'>;

/** A call before its secrets are filled in. */
export interface HttpCall {
  readonly method: string;
  /** The path below the base, as written, not yet normalized. */
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

/**
 * The URL of a path below a base. Refuses a path that leaves the base, as it is or once the server has decoded it
 * (security 19). `query` holds encoded pairs; those of the base stay.
 */
function below(base: string, path: string, query: readonly string[]): string {
  const root = new URL(base);
  const [written = '', ...rest] = path.split('?');
  if (/^[a-z][a-z0-9+.-]*:/i.test(written) || /^[/\\]{2}/.test(written)) {
    throw new BadArgument('"path" is below the address of the tool: leave scheme and host out, like /orders/17');
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  if (/[\\#\u0000-\u0020\u007f]/.test(written) || hasParentSegment(written) || /(^|\/)(\.|%2e)(\/|$)/i.test(written)) {
    throw new BadArgument(
      '"path" holds ".", "..", "#", "\\" or a space: write it plainly, and encode what is a part of a name',
    );
  }
  const folder = root.pathname.replace(/\/$/, '');
  const url = new URL(root.origin);
  url.pathname = written === '' ? root.pathname : `${folder}/${written.replace(/^\//, '')}`;
  url.search = [root.search.slice(1), rest.join('?').split('#')[0] ?? '', ...query]
    .filter((part) => part !== '')
    .join('&');
  if (url.origin !== root.origin || !(url.pathname === root.pathname || url.pathname.startsWith(`${folder}/`))) {
    throw new BadArgument('"path" leaves the address of the tool: write it plainly, like /orders/17');
  }
  return url.href;
}

/** The tool's headers with their secrets filled in. Names a secret that is not granted or does not fit in a header. */
async function fillSecrets(
  tool: Pick<HttpToolPlan, 'name' | 'headers'>,
  secrets: StepSecrets,
): Promise<Readonly<Record<string, string>>> {
  const filled = await Promise.all(
    Object.entries(tool.headers).map(async ([header, text]) => {
      const write = (name: string, secret: string) => {
        if (VALUE.test(secret)) return secret;
        throw new BadArgument(
          `the secret ${name} has a line break or another character that the header ${header} cannot carry: store it again without`,
        );
      };
      const value = await fillText(text, { tool: tool.name, secrets, write });
      return [header, value.trim()] as const;
    }),
  );
  return Object.fromEntries(filled);
}

/** The base with its secrets filled in. A secret never changes the structure of the URL, whatever it contains. */
function fillBase(tool: Pick<HttpToolPlan, 'name'>, base: string, secrets: StepSecrets): Promise<string> {
  // Use only forms of a secret that redaction recognizes.
  const write = (_name: string, secret: string) =>
    /^[A-Za-z0-9\-._~:!$'()*+,;]*$/.test(secret) ? secret : encodeURIComponent(secret);
  return fillText(base, { tool: tool.name, secrets, write });
}
