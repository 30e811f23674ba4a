import { Client } from 'undici';
import type { AllowHosts } from './check-url.js';
import { guardedConnector, type Resolve } from './connector.js';
import type { NetRequest } from './contract.js';
import { toNetError } from './failure.js';
import { toHeaders } from './headers.js';
import { readBody } from './read-body.js';
import { locationOf, type Message } from './redirect.js';

export interface HopRules {
  readonly allow: AllowHosts;
  readonly resolve: Resolve;
  readonly maxBytes: NonNullable<NetRequest['maxBytes']>;
  readonly signal: AbortSignal;
  /** False: a redirect's body is of no interest. */
  readonly readsRedirects: boolean;
  readonly onConnected: () => void;
}

export interface HopAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

const MAX_HEADER_BYTES = 16_384;

/**
 * One request to one origin, over a connection of its own: one that was kept open may be closed by the other side
 * just now, and then nobody knows whether a POST was had. Throws NetError.
 */
export async function sendHop(url: URL, message: Message, rules: HopRules): Promise<HopAnswer> {
  let connected = false;
  const onConnected = () => {
    connected = true;
    rules.onConnected();
  };
  const client = new Client(url.origin, {
    connect: guardedConnector(url, { ...rules, onConnected }),
    maxHeaderSize: MAX_HEADER_BYTES,
    // The deadline of the whole holds, by the signal.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  try {
    const answer = await client.request({
      path: `${url.pathname}${url.search}`,
      method: message.method,
      headers: { ...message.headers, 'accept-encoding': 'gzip, br', connection: 'close' },
      body: message.body,
      signal: rules.signal,
    });
    const { statusCode: status } = answer;
    const headers = toHeaders(answer.headers);
    const isEmpty =
      message.method === 'HEAD' || status === 204 || status === 304 || headers.get('content-length') === '0';
    const isPassedOver = !rules.readsRedirects && locationOf(status, headers) !== null;
    if (isPassedOver) return { status, headers, body: new Uint8Array(0) };
    const encoding = isEmpty ? null : headers.get('content-encoding');
    const maxBytes = typeof rules.maxBytes === 'number' ? rules.maxBytes : rules.maxBytes(headers);
    const body = await readBody(answer.body, { encoding, maxBytes, host: url.host });
    return { status, headers, body };
  } catch (error) {
    throw toNetError(error, { host: url.host, connected });
  } finally {
    client.destroy().catch(() => undefined);
  }
}
