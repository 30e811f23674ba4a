import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Net } from '../../platform/net/contract.js';
import { withErrorListener } from '../../shared/error-listener.js';
import type { Limits } from '../limits.js';
import { type Destination, isAllowed, parseDestination } from './allowlist.js';
import type { NetworkGrant, NetworkUse, RefusedHost } from './contract.js';
import { forward } from './forward.js';
import { listenInFolder } from './listen.js';
import { joinSockets } from './tunnel.js';

export interface EgressProxy {
  /** On this host, to be shown to the program. */
  readonly socket: string;
  use(): NetworkUse;
  /** Ends every connection. */
  close(): Promise<void>;
}

export interface EgressInput {
  readonly grant: NetworkGrant;
  readonly net: Net;
  /** A folder of its own, which need not be there. */
  readonly folder: string;
  readonly uid: number | null;
  readonly limits: Limits;
}

const IDLE_MS = 300_000;
const MAX_HEADER_BYTES = 16_384;
const MAX_REFUSED = 20;

/**
 * The one way out of a program's empty network namespace: an HTTP proxy (CONNECT, and plain requests) in this
 * process, behind a socket that only this program is shown. It opens what the list names and nothing else.
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
