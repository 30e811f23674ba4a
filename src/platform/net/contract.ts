import type { Socket } from 'node:net';

/** One request to a URL from a user. */
export interface NetRequest {
  /** `http` or `https`, without user or password. */
  readonly url: string;
  /** Default GET. */
  readonly method?: string;
  /** A redirect to another origin keeps only headers that describe the content, never a credential. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Refuses `http`, except for hosts that the operator opened with SERVICE_ALLOW_HOSTS. */
  readonly httpsOnly?: boolean;
  /** Maximum number of redirects to follow, default 5 (0 for a stream). With 0, a redirect is a normal answer. */
  readonly redirects?: number;
  /** For the whole request, including redirects; default 30 s. */
  readonly timeoutMs?: number;
  /** Limit of the answer's body, decompressed; default 5 MiB. A function is called with the answer's headers. */
  readonly maxBytes?: number | ((headers: Headers) => number);
  /** The URL that every hop must stay at or below, ignoring the query. A redirect that leaves it is refused. */
  readonly within?: string;
  readonly signal?: AbortSignal;
}

/** An answer of any status, 4xx and 5xx included. */
export interface NetAnswer {
  readonly kind: 'answer';
  readonly status: number;
  readonly headers: Headers;
  /** Decompressed. */
  readonly body: Uint8Array;
  /** The final URL, after redirects. */
  readonly url: string;
}

/** An answer whose body is read as it arrives. */
export interface NetStream {
  readonly kind: 'stream';
  readonly status: number;
  readonly headers: Headers;
  /** Decompressed. It fails with a fault's sentence; cancelling it ends the connection. */
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
  /** A sentence for the person who gave the URL. It names the host and never the path or the query. */
  readonly message: string;
  /** True when the other side may have received the request and acted on it. */
  readonly sent: boolean;
}

/** A raw TCP connection, for a program that connects through the sandbox's proxy. */
export interface NetTarget {
  readonly host: string;
  readonly port: number;
  /**
   * The operator named this host in a client's configuration, so it may be private, but not one that is always refused.
   */
  readonly isOperators?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * The one HTTP client for URLs from users. It connects to public addresses only: each literal address, and each address
 * that a name resolves to, is checked at the connection, and again at each redirect.
 */
export interface Net {
  /** Never throws: a failure is a NetFault. */
  request(request: NetRequest): Promise<NetAnswer | NetFault>;
  /** Opens a TCP connection under the same rules. Never throws. */
  connect(target: NetTarget): Promise<{ readonly kind: 'connected'; readonly socket: Socket } | NetFault>;
  /**
   * Like `request`, for an answer that may not end. `timeoutMs` limits the time to its headers, `signal` stops all of
   * it; `redirects` defaults to 0.
   */
  open(request: NetRequest): Promise<NetStream | NetFault>;
  /**
   * Resolves and checks the addresses of a URL's host, for a program that must connect to exactly these. Never throws.
   */
  resolve(
    url: string,
    options?: Pick<NetRequest, 'httpsOnly'>,
  ): Promise<{ readonly kind: 'resolved'; readonly url: URL; readonly addresses: readonly string[] } | NetFault>;
  /** Checks a URL without a request: form, scheme, range of a literal address. Null when nothing is wrong. */
  check(url: string, options?: Pick<NetRequest, 'httpsOnly'>): NetFault | null;
}
