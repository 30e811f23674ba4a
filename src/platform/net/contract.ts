import type { Socket } from 'node:net';

/** One request to an address that a user gave. */
export interface NetRequest {
  /** `http` or `https`, without user or password in it. */
  readonly url: string;
  /** Default GET. */
  readonly method?: string;
  /** A redirect to another origin takes only those along that say what is sent and wanted, never a credential. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Refuses `http`, but for hosts that the operator opened with SERVICE_ALLOW_HOSTS. */
  readonly httpsOnly?: boolean;
  /** How many redirects are followed, default 5 (of a stream none). With 0 a redirect is an answer like any other. */
  readonly redirects?: number;
  /** For the whole of it, all redirects included; default 30 s. */
  readonly timeoutMs?: number;
  /** Of the answer's body, unpacked; default 5 MiB. A function is asked once its headers are there. */
  readonly maxBytes?: number | ((headers: Headers) => number);
  /** The address that every hop stays at or below, query aside: a redirect that leaves it is refused. */
  readonly within?: string;
  readonly signal?: AbortSignal;
}

/** Whatever status the other side gave: 4xx and 5xx are answers too. */
export interface NetAnswer {
  readonly kind: 'answer';
  readonly status: number;
  readonly headers: Headers;
  /** Unpacked. */
  readonly body: Uint8Array;
  /** Where it came from, after the redirects. */
  readonly url: string;
}

/** An answer whose body is read as it comes. */
export interface NetStream {
  readonly kind: 'stream';
  readonly status: number;
  readonly headers: Headers;
  /** Unpacked. It fails with a fault's sentence; cancelling it ends the connection. */
  readonly body: ReadableStream<Uint8Array>;
}

export type NetFaultKind =
  | 'bad-url'
  | 'bad-request'
  | 'denied'
  | 'unresolved'
  | 'unreachable'
  | 'tls'
  | 'timeout'
  | 'too-large'
  | 'redirect'
  | 'broken'
  | 'stopped';

export interface NetFault {
  readonly kind: 'fault';
  readonly fault: NetFaultKind;
  /** A sentence for the person who gave the address. It names the host and never the path or the query. */
  readonly message: string;
  /** True when the other side may have had the request, so that it may have acted on it. */
  readonly sent: boolean;
}

/** A raw TCP connection, for a program that connects through the sandbox's proxy. */
export interface NetTarget {
  readonly host: string;
  readonly port: number;
  /** The operator named this host in a client's configuration: it may be private, but for what stays shut to all. */
  readonly isOperators?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * The one HTTP client for addresses that users give. It connects to public addresses only: each literal and each
 * address that a name resolves to is checked when it connects, at each redirect again.
 */
export interface Net {
  /** Never throws: what went wrong is the result. */
  request(request: NetRequest): Promise<NetAnswer | NetFault>;
  /** A TCP connection under the same rules: it connects only to the checked addresses. Never throws. */
  connect(target: NetTarget): Promise<{ readonly kind: 'connected'; readonly socket: Socket } | NetFault>;
  /** As `request`, for an answer that may not end: `timeoutMs` is for its head, `signal` for all of it; `redirects` is 0 without it. */
  open(request: NetRequest): Promise<NetStream | NetFault>;
  /** The checked addresses of a URL's host, for a program that makes its own connection to exactly these. Never throws. */
  resolve(
    url: string,
    options?: Pick<NetRequest, 'httpsOnly'>,
  ): Promise<{ readonly kind: 'resolved'; readonly url: URL; readonly addresses: readonly string[] } | NetFault>;
  /** What is wrong with a URL, as far as it shows without a request: form, scheme, range of a literal address. Null: nothing. */
  check(url: string, options?: Pick<NetRequest, 'httpsOnly'>): NetFault | null;
}
