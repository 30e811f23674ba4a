import { once } from 'node:events';
import { connect, createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';

/** The gRPC code of a refusal that no client retries by itself. */
const PERMISSION_DENIED = '7';

/** Stands before Temporal and passes calls on, except those of the methods that it refuses. */
export async function startTemporalDoor(temporal: string, refuses: (method: string) => boolean) {
  const upstream = connect(`http://${temporal}`);
  upstream.on('error', () => undefined);
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    if (refuses(String(headers[':path']).split('/').at(-1) ?? '')) {
      stream.resume();
      const refusal = { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': PERMISSION_DENIED };
      stream.respond(refusal, { endStream: true });
    } else pass(stream, upstream.request(headers));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close(): void {
      for (const session of sessions) session.destroy();
      upstream.destroy();
      server.close();
    },
  };
}

function pass(stream: ServerHttp2Stream, call: ReturnType<ReturnType<typeof connect>['request']>): void {
  let trailers = {};
  call.on('error', () => stream.close());
  call.on('trailers', (received) => {
    trailers = received;
  });
  call.on('response', ({ ...headers }, flags) => {
    // An answer of headers alone ends with them.
    const endStream = (flags & 1) === 1;
    stream.respond(headers, { endStream, waitForTrailers: !endStream });
    if (!endStream) call.pipe(stream);
  });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.on('close', () => call.close());
  stream.pipe(call);
}
