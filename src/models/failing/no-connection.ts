const SENTENCES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection: is it running, and is the base URL right?',
  ENOTFOUND: 'has no address: is the base URL right?',
  EAI_AGAIN: 'could not be looked up: the name server did not answer',
  ECONNRESET: 'closed the connection',
  EPIPE: 'closed the connection',
  UND_ERR_SOCKET: 'closed the connection',
  ETIMEDOUT: 'did not answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'did not answer in time',
  UND_ERR_HEADERS_TIMEOUT: 'did not answer in time',
  UND_ERR_BODY_TIMEOUT: 'went silent',
  EHOSTUNREACH: 'cannot be reached from here',
  ENETUNREACH: 'cannot be reached from here',
};
const TLS = /CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO_VERIFY/;

/** Why the connection failed or broke, as a predicate of the provider; null for other errors. */
export function noConnection(error: unknown): string | null {
  for (const cause of causes(error)) {
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
    const sentence = SENTENCES[code];
    if (sentence !== undefined) return `${sentence} (${code})`;
    if (TLS.test(code)) return `has no certificate that is trusted here: ${cause.message} (${code})`;
    if (cause.message === 'terminated') return 'cut the stream';
  }
  return null;
}

/** An error and its causes, innermost first, since that one is the most specific. */
function causes(error: unknown): Error[] {
  const found: Error[] = [];
  for (let next = error; next instanceof Error && found.length < 10; next = next.cause) {
    found.unshift(next);
    if (next instanceof AggregateError) found.unshift(...next.errors.filter((inner) => inner instanceof Error));
  }
  return found;
}
