import { type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream';

/** They are of one connection, and not of the message (RFC 9110, 7.6.1). */
const HOP_HEADERS = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'proxy-authenticate', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'expect', 'host'],
]);

/** Sends a request that came in on over a connection to its host, and its answer back. */
export function forward(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { url, socket, onBytes }: { readonly url: URL; readonly socket: Socket; readonly onBytes: (count: number) => void },
): void {
  // The client has disconnected meanwhile.
  if (outgoing.destroyed) return void socket.destroy();
  const sent = request({
    method: incoming.method,
    path: `${url.pathname}${url.search}`,
    headers: { ...endToEnd(incoming.headers), host: url.host, connection: 'close' },
    setHost: false,
    createConnection: () => socket,
  });
  const fail = () => {
    if (outgoing.headersSent || outgoing.destroyed) outgoing.destroy();
    else outgoing.writeHead(502).end(`${url.host} closed the connection or sent an invalid HTTP response\n`);
  };
  sent.on('error', fail);
  // A response that would turn the connection into a tunnel closes it.
  sent.once('close', () => {
    if (!outgoing.headersSent) fail();
  });
  sent.on('response', (answer) => {
    answer.on('data', (chunk: Buffer) => onBytes(chunk.length));
    try {
      outgoing.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
    } catch {
      // The parser accepts what must not be forwarded, such as status 7.
      answer.destroy();
      return fail();
    }
    pipeline(answer, outgoing, () => socket.destroy());
  });
  outgoing.once('close', () => socket.destroy());
  incoming.on('data', (chunk: Buffer) => onBytes(chunk.length));
  pipeline(incoming, sent, () => undefined);
}

function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_HEADERS.has(name) && !named.has(name)));
}
