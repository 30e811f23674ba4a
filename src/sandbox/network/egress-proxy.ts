import { chmod, chown, mkdir, open } from 'node:fs/promises';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Server, Socket } from 'node:net';
import { join } from 'node:path';
import { type Duplex, pipeline } from 'node:stream';
import type { Net } from '../../platform/net/contract.js';
import { withErrorListener } from '../../shared/error-listener.js';
import type { Limits } from '../limits.js';
import type { NetworkGrant, NetworkUse, RefusedHost } from './contract.js';

/** The ports of a host that is listed without one: those of https and http. */
const WEB_PORTS = [443, 80];

/** Hop-by-hop headers, which belong to a connection and not to the message (RFC 9110, 7.6.1). */
const HOP_HEADERS = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'proxy-authenticate', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'expect', 'host'],
]);

export interface EgressProxy {
  /** The socket's path on this host, to be shown to the program. */
  readonly socket: string;
  use(): NetworkUse;
  /** Ends every connection. */
  close(): Promise<void>;
}

interface EgressInput {
  readonly grant: NetworkGrant;
  readonly net: Net;
  /** The folder to create for its socket. */
  readonly folder: string;
  readonly uid: number | null;
  readonly limits: Limits;
}

const IDLE_MS = 300_000;

const MAX_HEADER_BYTES = 16_384;

const MAX_REFUSED = 20;

/**
 * The only way out of a program's empty network namespace: an HTTP proxy (CONNECT, and plain requests) in this process,
 * behind a socket that only this program sees. It connects only to listed hosts.
 */
export async function openEgressProxy(input: EgressInput): Promise<EgressProxy> {
  const egress = new Egress(input);
  const socket = await listenInFolder(egress.server, input.folder, input.uid);
  return { socket, use: () => egress.use(), close: () => egress.close() };
}

class Egress {
  readonly server;
  readonly #open = new Set<Duplex>();
  readonly #over = new AbortController();
  readonly #refused = new Map<string, RefusedHost>();
  #bytes = 0;
  /** Connections that are being opened: a DNS lookup does not notice that the client has disconnected. */
  #connecting = 0;

  constructor(readonly input: EgressInput) {
    this.server = withErrorListener(
      createServer({ maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: 0, headersTimeout: 30_000 }),
    );
    this.server.maxConnections = input.limits.connections;
    this.server.on('connection', (socket) => this.#track(socket));
    this.server.on('connect', (request, client, head) => {
      client.unshift(head);
      this.#tunnel(request, client).catch(() => client.destroy());
    });
    this.server.on('request', (request, response) => this.#forward(request, response).catch(() => response.destroy()));
    this.server.on('clientError', (_error, socket) => void socket.destroy());
  }

  use(): NetworkUse {
    return { refused: [...this.#refused.values()], bytes: this.#bytes };
  }

  async close(): Promise<void> {
    this.#over.abort();
    for (const stream of this.#open) stream.destroy();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  async #tunnel(request: IncomingMessage, client: Duplex): Promise<void> {
    this.#track(client);
    const to = parseDestination(request.url ?? '', 443);
    const connected = await this.#connect(to);
    if (typeof connected === 'string') return answerAndEnd(client, connected);
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    joinSockets(client, connected, (count) => this.#count(count));
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.canParse(request.url ?? '') ? new URL(request.url ?? '') : null;
    if (url?.protocol !== 'http:' || url.username !== '' || url.password !== '') {
      response.writeHead(400).end('this is a proxy: ask it for whole http:// addresses, and for others by CONNECT\n');
      return;
    }
    const connected = await this.#connect(parseDestination(url.host, 80));
    if (typeof connected === 'string') {
      response
        .writeHead(403, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
        .end(`${connected}\n`);
      return;
    }
    forward(request, response, { url, socket: connected, onBytes: (count) => this.#count(count) });
  }

  /** A connection, or the reason why there is none. */
  async #connect(to: Destination | null): Promise<Socket | string> {
    if (to === null) return 'invalid host';
    const { grant, net, limits } = this.input;
    if (this.#bytes > limits.transfer)
      return this.#refuse(to, `the program has used up the ${limits.transfer} bytes that it may send and receive`);
    if (!isAllowed(grant.hosts, to))
      return this.#refuse(to, `${nameOf(to)} is not in "network:", which opens ${grant.hosts.join(', ')}`);
    if (this.#connecting >= limits.connections)
      return this.#refuse(to, `the program makes more than ${limits.connections} connections at once`);
    this.#connecting += 1;
    const answer = await net
      .connect({
        host: to.host,
        port: to.port,
        isOperators: grant.isOperators === true,
        signal: this.#over.signal,
      })
      .finally(() => {
        this.#connecting -= 1;
      });
    if (answer.kind === 'fault') return this.#refuse(to, answer.message);
    this.#track(answer.socket);
    return answer.socket;
  }

  #refuse(to: Destination, why: string): string {
    const host = nameOf(to);
    if (this.#refused.size < MAX_REFUSED && !this.#over.signal.aborted) this.#refused.set(host, { host, why });
    return why;
  }

  #track(stream: Duplex & { setTimeout?: Socket['setTimeout'] }): void {
    if (this.#open.has(stream)) return;
    this.#open.add(stream);
    stream.on('error', () => stream.destroy());
    stream.once('close', () => this.#open.delete(stream));
    stream.setTimeout?.(IDLE_MS, () => void stream.destroy());
    if (this.#over.signal.aborted) stream.destroy();
  }

  /** Traffic over the limit closes all connections; later ones get the reason. */
  #count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.input.limits.transfer) for (const stream of this.#open) stream.destroy();
  }
}

function nameOf({ host, port }: Destination): string {
  return `${host}:${port}`;
}

/** Programs show only the reason phrase of such a response. */
function answerAndEnd(client: Duplex, why: string): void {
  const words = why.replace(/[^\x20-\x7e]/g, '?');
  client.end(
    `HTTP/1.1 403 ${STATUS_CODES[403]}: ${words}\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: ${words.length + 1}\r\n\r\n${words}\n`,
  );
}

/** Forwards a request over a connection to its host, and the response back. */
function forward(
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

/**
 * Makes a server listen on a socket in a new folder that only the programs' user may use. A socket address holds at
 * most 108 bytes, so on Linux the path goes through a handle of the folder, which is short at any depth.
 */
async function listenInFolder(server: Server, folder: string, uid: number | null): Promise<string> {
  await mkdir(folder, { mode: 0o711 });
  await chmod(folder, 0o711);
  const handle = process.platform === 'linux' ? await open(folder, 'r') : null;
  try {
    const path = handle === null ? join(folder, 'socket') : `/proc/self/fd/${handle.fd}/socket`;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, () => resolve());
    });
  } finally {
    await handle?.close();
  }
  const socket = join(folder, 'socket');
  await chmod(socket, 0o600);
  if (uid !== null) await chown(socket, uid, uid);
  return socket;
}

/** Pipes two streams both ways until both have ended; an error on one side ends the other. */
function joinSockets(near: Duplex, far: Duplex, onBytes: (count: number) => void): void {
  for (const [from, to] of [
    [near, far],
    [far, near],
  ] as const) {
    from.on('data', (chunk: Buffer) => onBytes(chunk.length));
    from.on('error', () => to.destroy());
    from.once('close', () => {
      if (!from.readableEnded) to.destroy();
    });
    from.pipe(to);
  }
}

interface Destination {
  /** As a URL spells it: lower case, Punycode, an IPv4 address in four parts. */
  readonly host: string;
  readonly port: number;
}

/** A destination in canonical form for comparison; null for an invalid one. */
function parseDestination(authority: string, defaultPort: number): Destination | null {
  if (authority.length > 300 || !/^[^\s/?#@\\]+$/.test(authority)) return null;
  const text = `http://${authority}`;
  if (!URL.canParse(text)) return null;
  const { hostname, port } = new URL(text);
  // A URL omits its scheme's default port.
  const isPort80 = port === '' && /:0*80$/.test(authority);
  return { host: hostname.replace(/\.$/, ''), port: port === '' ? (isPort80 ? 80 : defaultPort) : Number(port) };
}

/**
 * Whether a list such as `api.example.com`, `*.example.com`, `db.example.com:5432` allows it. `*.` matches any depth
 * below the name, but not the name itself.
 */
function isAllowed(list: readonly string[], { host, port }: Destination): boolean {
  return list.some((entry) => {
    const [, name = '', digits] = /^(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    const isPort = digits === undefined ? WEB_PORTS.includes(port) : Number(digits) === port;
    return isPort && (name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === spelled(name));
  });
}

function spelled(name: string): string {
  return URL.canParse(`http://${name}`) ? new URL(`http://${name}`).hostname : name;
}
