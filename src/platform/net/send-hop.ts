import type { Readable } from 'node:stream';
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
  /** False when the body of a redirect is not needed. */
  readonly readsRedirects: boolean;
  readonly onConnected: () => void;
}

export interface HopAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

const MAX_HEADER_BYTES = 16_384;

export interface OpenHop {
  readonly status: number;
  readonly headers: Headers;
  /** Compressed, as it arrives. */
  readonly body: Readable;
  readonly hasBody: boolean;
  /** Ends the connection; idempotent. */
  readonly end: () => void;
}

/**
 * Sends one request to one origin over a new connection. The peer may close a reused connection at any moment, and then
 * it is unknown whether a POST arrived. The caller ends the connection. Throws NetError.
 */
export async function openHop(
  url: URL,
  message: Message,
  rules: Omit<HopRules, 'maxBytes' | 'readsRedirects'>,
): Promise<OpenHop> {
  let connected = false;
  const onConnected = () => {
    connected = true;
    rules.onConnected();
  };
  const client = new Client(url.origin, {
    connect: guardedConnector(url, { ...rules, onConnected }),
    maxHeaderSize: MAX_HEADER_BYTES,
    // The signal enforces the deadline of the whole request.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const end = () => void client.destroy().catch(() => undefined);
  try {
    const answer = await client.request({
      path: `${url.pathname}${url.search}`,
      method: message.method,
      headers: { 'accept-encoding': 'gzip, br', ...message.headers, connection: 'close' },
      body: message.body,
      signal: rules.signal,
    });
    const { statusCode: status, body } = answer;
    const headers = toHeaders(answer.headers);
    const isEmpty =
      message.method === 'HEAD' || status === 204 || status === 304 || headers.get('content-length') === '0';
    // Ending the body early is not an error.
    body.on('error', () => undefined);
    return { status, headers, body, hasBody: !isEmpty, end };
  } catch (error) {
    end();
    throw toNetError(error, { host: url.host, connected });
  }
}

/** Sends one request and reads its whole answer. Throws NetError. */
export async function sendHop(url: URL, message: Message, rules: HopRules): Promise<HopAnswer> {
  const { status, headers, body: packed, hasBody, end } = await openHop(url, message, rules);
  try {
    const isPassedOver = !rules.readsRedirects && locationOf(status, headers) !== null;
    if (isPassedOver) return { status, headers, body: new Uint8Array(0) };
    const encoding = hasBody ? headers.get('content-encoding') : null;
    const maxBytes = typeof rules.maxBytes === 'number' ? rules.maxBytes : rules.maxBytes(headers);
    const body = await readBody(packed, { encoding, maxBytes, host: url.host });
    return { status, headers, body };
  } catch (error) {
    throw toNetError(error, { host: url.host, connected: true });
  } finally {
    end();
  }
}
