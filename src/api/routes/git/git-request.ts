import type { Readable } from 'node:stream';
import type { Context } from 'hono';
import { answerWithin, authenticateGitKey, type GitCaller } from '../../../people/index.js';
import { findRemote, type GitService, type Remote } from '../../../remotes/index.js';
import { Refusal } from '../../../shared/refusal.js';
import { StorageUnavailable, toStorageError } from '../../../shared/storage-unavailable.js';
import { byDevelopment } from '../../auth/authenticate.js';
import { clientAddress } from '../../auth/client-address.js';
import { bodyStream } from '../../body-stream.js';
import { clientSignal } from '../../client-left.js';
import type { AppEnv } from '../../env.js';
import { STATUS } from '../../errors.js';
import { rawStream } from '../../take-body.js';
import { type GitBody, receiveBody } from './receive-body.js';

/** Longer than any key: a longer header is refused without hashing it. */
const MAX_HEADER = 2_048;

/** No caching, with the headers of git's own servers. */
export const NO_CACHE = {
  'Cache-Control': 'no-cache, max-age=0, must-revalidate',
  Expires: 'Fri, 01 Jan 1980 00:00:00 GMT',
  Pragma: 'no-cache',
};

/** The remote that the path names, if the key may access it. Session cookies are ignored. */
export async function remoteOf(c: Context<AppEnv>, service: GitService): Promise<Remote> {
  const who = await answerWithin(c.var.deps.db, authenticate(c));
  c.set('caller', who.caller);
  return findRemote(c.var.deps, who, { tenant: c.req.param('tenant') ?? '', repo: c.req.param('repo') ?? '', service });
}

/** HTTP Basic with any user name, and the API key as the password. */
async function authenticate(c: Context<AppEnv>): Promise<GitCaller> {
  const header = c.req.header('authorization');
  if (header === undefined) {
    const caller = await byDevelopment(c);
    if (caller) return { caller, workspace: null };
    throw new Refusal('unauthenticated', 'no credential: give an API key as the password, with any user name');
  }
  const encoded = header.length > MAX_HEADER ? undefined : /^Basic +([\w+/=-]+) *$/i.exec(header)?.[1];
  const pair = Buffer.from(encoded ?? '', 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 0) throw new Refusal('unauthenticated', 'the credential must be HTTP Basic: any user name, an API key');
  return authenticateGitKey(c.var.deps, pair.slice(colon + 1), clientAddress(c));
}

/** Sends a refusal as text, which the git client prints after `remote: `. */
export async function forGit(c: Context<AppEnv>, work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (thrown) {
    const error = toStorageError(thrown);
    if (!(error instanceof Refusal)) throw error;
    if (error instanceof StorageUnavailable) c.var.log.warn({ err: error }, error.message);
    const headers: Record<string, string> = { ...NO_CACHE, 'Content-Type': 'text/plain; charset=utf-8' };
    if (error.kind === 'unauthenticated') headers['WWW-Authenticate'] = 'Basic realm="Signalbox", charset="UTF-8"';
    if (typeof error.details.retryAfter === 'number') headers['Retry-After'] = String(error.details.retryAfter);
    return c.body(`${error.message}\n`, STATUS[error.kind], headers);
  }
}

/** The maximum duration of a push's upload. Fetches have no limit; their progress is watched instead. */
const LONGEST_MS = 900_000;
export const FETCH_LONGEST_MS = 14_400_000;

/** The request's bytes as a stream, unpacked if gzipped. */
export function bodyOf(c: Context<AppEnv>, longestMs: number = LONGEST_MS): GitBody {
  const encoding = c.req.header('content-encoding');
  if (encoding !== undefined && !/^(x-)?gzip$/i.test(encoding))
    throw new Refusal('unsupported_type', 'a body may be packed with gzip, and with nothing else');
  return receiveBody(rawStream(c), { isGzip: encoding !== undefined, longestMs, left: clientSignal(c) });
}

/** A Node stream as a response. */
export function streamed(c: Context<AppEnv>, stream: Readable, type: string): Response {
  return c.body(bodyStream(c, stream), 200, { ...NO_CACHE, 'Content-Type': type });
}
