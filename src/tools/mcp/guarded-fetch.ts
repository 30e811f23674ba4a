import type { Net } from '../../platform/net/index.js';
import { unmark } from '../../shared/exact-json.js';
import { ServerFault } from './contract.js';
import { markMessages } from './mark-messages.js';

/** How long an answer's head may take: with it a whole call, which has its own time. */
const HEAD_MS = 3_600_000;
/** Of one answer, or of one stream of messages. */
const MAX_ANSWER = 32 * 1_048_576;
const WITHOUT_BODY = new Set([204, 205, 304]);

export interface FetchRules {
  readonly base: URL;
  /** The current headers of each request. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>;
  /** Refuses plain http, unless the operator allowed the host. */
  readonly httpsOnly: boolean;
  /** Aborted when the connection is closed. */
  readonly signal: AbortSignal;
}

/** `fetch` for a server's own origin and no other, through the guarded client. Redirects are answers. */
export function guardedFetch(net: Pick<Net, 'open'>, rules: FetchRules) {
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
