import { NetError } from './net-error.js';

export type HeaderMap = Readonly<Record<string, string>>;

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Headers about the connection itself: only the client sets them. */
const OURS = new Set([
  ...['host', 'content-length', 'accept-encoding', 'connection', 'keep-alive', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'expect'],
]);
/** Headers that may be sent to another origin: they describe the content and cannot carry a credential. */
const NEUTRAL = new Set(['accept', 'accept-language', 'content-type', 'content-language', 'user-agent']);

/** Checks the headers and returns them in lower case. The error for an invalid value does not repeat it. */
export function checkHeaders(headers: HeaderMap): HeaderMap {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const lower = name.toLowerCase();
      if (!NAME.test(name)) throw new NetError('bad-request', `invalid header name ${JSON.stringify(name)}`);
      if (OURS.has(lower)) throw new NetError('bad-request', `the header ${name} is set by the service: leave it out`);
      if (!VALUE.test(value))
        throw new NetError(
          'bad-request',
          `the value of the header ${name} has a line break or another character that no header can carry`,
        );
      return [lower, value];
    }),
  );
}

export function neutralHeaders(headers: HeaderMap): HeaderMap {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => NEUTRAL.has(name)));
}

export function bodilessHeaders(headers: HeaderMap): HeaderMap {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('content-')));
}

/** The received headers, without invalid values. */
export function toHeaders(raw: Readonly<Record<string, string | string[] | undefined>>): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(raw)) {
    for (const value of [values ?? []].flat()) if (VALUE.test(value)) headers.append(name, value);
  }
  return headers;
}
