import type { Transport } from '@modelcontextprotocol/client';
import type { McpToolPlan } from '../../format/model.js';
import type { Net } from '../../platform/net/index.js';
import { settlesWithin } from '../../shared/deadline.js';
import { unmark } from '../../shared/exact-json.js';
import type { Dial } from './connection.js';
import { ServerFault } from './contract.js';
import { markMessages } from './mark-messages.js';
import { sdk } from './sdk.js';

/**
 * The maximum wait for an answer's headers. They may come only when a call has ended, and calls have their own timeout.
 */
const HEAD_MS = 3_600_000;

/** The maximum size of one answer or one message stream, in bytes. */
const MAX_ANSWER = 32 * 1_048_576;

const WITHOUT_BODY = new Set([204, 205, 304]);

/** A broken message stream is reopened at most this often, after a pause. */
const RECONNECTS = 5;

const RECONNECT_MS = 1_000;

/** The timeout for closing a server's session. */
const TERMINATE_MS = 2_000;

interface RemoteServer {
  readonly net: Pick<Net, 'open'>;
  readonly plan: McpToolPlan;
  readonly url: URL;
  /** The plan's headers with the step's secrets at this moment. */
  readonly headers: FetchRules['headers'];
}

/** The ways to a server of a URL: streamable HTTP in both generations, then the older SSE. */
export function dialsOf(remote: RemoteServer): readonly (() => Dial)[] {
  const ways = {
    http: [() => dial(remote, 'legacy', streamable), () => dial(remote, 'auto', streamable)],
    sse: [() => dial(remote, 'legacy', sse)],
  };
  const { via } = remote.plan;
  return via === undefined ? [...ways.http, ...ways.sse] : ways[via];
}

type Speak = (url: URL, fetch: ReturnType<typeof guardedFetch>) => Transport;

function dial({ net, plan, url, headers }: RemoteServer, mode: Dial['mode'], speak: Speak): Dial {
  const gone = new AbortController();
  const rules = { base: url, headers, httpsOnly: plan.secrets.length > 0, signal: gone.signal };
  const asked = guardedFetch(net, rules);
  let fault: ServerFault | null = null;
  const fetch: typeof asked = (input, init) =>
    asked(input, init).catch((error: unknown) => {
      if (error instanceof ServerFault) fault = error;
      throw error;
    });
  const transport = speak(url, fetch);
  return {
    transport,
    mode,
    why: () => fault?.message ?? null,
    close: async () => {
      await terminateSession(transport);
      gone.abort();
      await transport.close();
    },
  };
}

const streamable: Speak = (url, fetch) => {
  let reconnects = 0;
  return new (sdk().StreamableHTTPClientTransport)(url, {
    fetch,
    reconnectionScheduler: (reconnect, delay) => {
      reconnects += 1;
      if (reconnects > RECONNECTS) return;
      const timer = setTimeout(reconnect, Math.max(RECONNECT_MS, delay));
      return () => clearTimeout(timer);
    },
  });
};

const sse: Speak = (url, fetch) => {
  const transport = new (sdk().SSEClientTransport)(url, { fetch });
  // The transport would reconnect to a new session, which was not initialized.
  transport.onerror = (error) => {
    if (error instanceof sdk().SseError) transport.close().catch(() => undefined);
  };
  return transport;
};

async function terminateSession(transport: Transport): Promise<void> {
  if (!(transport instanceof sdk().StreamableHTTPClientTransport) || transport.sessionId === undefined) return;
  await settlesWithin(
    transport.terminateSession().catch(() => undefined),
    TERMINATE_MS,
  );
}

interface FetchRules {
  readonly base: URL;
  /** The current headers of each request. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>;
  /** Refuses plain http, unless the operator allowed the host. */
  readonly httpsOnly: boolean;
  /** Aborted when the connection is closed. */
  readonly signal: AbortSignal;
}

/** `fetch` for a server's own origin only, through the guarded client. Redirects are returned, not followed. */
function guardedFetch(net: Pick<Net, 'open'>, rules: FetchRules) {
  return async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(input);
    if (url.origin !== rules.base.origin)
      throw new ServerFault(`it redirects to ${url.origin}, and requests go to its own origin only`);
    const own = Object.fromEntries(new Headers(init.headers).entries());
    const signals = init.signal ? [init.signal, rules.signal] : [rules.signal];
    const answer = await net.open({
      url: url.href,
      method: init.method ?? 'GET',
      headers: { ...lowerCase(await rules.headers()), ...own },
      httpsOnly: rules.httpsOnly,
      timeoutMs: HEAD_MS,
      maxBytes: MAX_ANSWER,
      signal: AbortSignal.any(signals),
      ...(typeof init.body === 'string' && { body: unmark(init.body) }),
    });
    if (answer.kind === 'fault') throw new ServerFault(answer.message, answer.sent);
    const { status, headers, body } = answer;
    headers.delete('content-encoding');
    if (status < 200) throw new ServerFault(`it answers with the invalid status ${status}`);
    if (!WITHOUT_BODY.has(status))
      return new Response(markMessages(body, headers.get('content-type')), { status, headers });
    await body.cancel();
    return new Response(null, { status, headers });
  };
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
