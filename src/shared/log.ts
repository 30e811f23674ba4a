/**
 * The fields of a log line. An error goes under `err`, as it was thrown: the log writes its message, stack and cause
 * from there. Other names for it do not compile, and `npm run verify` refuses what the types cannot see.
 */
export interface LogFields {
  readonly [key: string]: unknown;
  readonly err?: unknown;
  readonly error?: never;
  readonly cause?: never;
  readonly exception?: never;
}

/** The structured log: pino's shape, so that services need not know pino. */
export interface Log {
  debug(fields: LogFields, message?: string): void;
  info(fields: LogFields, message?: string): void;
  warn(fields: LogFields, message?: string): void;
  error(fields: LogFields, message?: string): void;
  child(fields: LogFields): Log;
}

/** Discards everything, for programs with output of their own. */
export const quietLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => quietLog,
};

/** A provider's redirect carries a code and a state, also inside the `next` address of a sign-in. */
const CALLBACK = /((?:\/|%2F)api(?:\/|%2F)oauth(?:\/|%2F)callback(?:\?|%3F))\S*/gi;

/** Letters may be percent-encoded, and servers decode them. */
const CODED_LETTER = /%(?:4[1-9a-f]|5[0-9a]|6[1-9a-f]|7[0-9a])/gi;

/** A URL without credentials, for logs: cuts the value of `token=`, `key=` or `password=`, a share's path, and the id of a terminal's sign-in. */
export function redactTokens(address: string): string {
  return address
    .replace(CODED_LETTER, (coded) => decodeURIComponent(coded))
    .replace(/(token|key|secret|password)=[^&#\s]*/gi, '$1=[redacted]')
    .replace(/(token|key|secret|password)%3D(?:(?!%26)[^&#\s])*/gi, '$1%3D[redacted]')
    .replace(CALLBACK, '$1[redacted]')
    .replace(/(\/cli\/login\/)[^/?#\s]+/g, '$1[redacted]')
    .replace(/(^|\/)s\/[\w-]{16,}/g, '$1s/[redacted]');
}
