import { PassThrough, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { answerWithin, authenticateGitKey, type GitCaller } from '../../people/index.js';
import {
  advertiseFetch,
  advertisePush,
  findRemote,
  type GitService,
  type Remote,
  receivePush,
  serveFetch,
} from '../../remotes/index.js';
import { withErrorListener } from '../../shared/error-listener.js';
import { errorMessage, notFound, Refusal } from '../../shared/refusal.js';
import { StorageUnavailable, toStorageError } from '../../shared/storage-unavailable.js';
import { byDevelopment } from '../auth/authenticate.js';
import { clientAddress } from '../auth/client-address.js';
import { bodyStream } from '../body-stream.js';
import { ClientLeft, clientSignal } from '../client-left.js';
import { defineRoute } from '../define-route.js';
import type { AppEnv } from '../env.js';
import { STATUS } from '../errors.js';
import { rawStream } from '../take-body.js';

/** A silent client must not keep its place in the queue forever. */
const IDLE_MS = 60_000;

/** Longer than any key: a longer header is refused without hashing it. */
const MAX_HEADER = 2_048;

/** No caching, with the headers of git's own servers. */
const NO_CACHE = {
  'Cache-Control': 'no-cache, max-age=0, must-revalidate',
  Expires: 'Fri, 01 Jan 1980 00:00:00 GMT',
  Pragma: 'no-cache',
};

/** The maximum duration of a push's upload. Fetches have no limit; their progress is watched instead. */
const LONGEST_MS = 900_000;

const FETCH_LONGEST_MS = 14_400_000;

const Params = z.object({
  tenant: z.string().openapi({ description: 'The account' }),
  repo: z.string().openapi({ description: 'The workspace’s name, with or without `.git`' }),
});

const bytes = { content: { '*/*': { schema: z.unknown() } } };

const answers = { 200: { description: 'As git’s smart HTTP says', ...bytes } };

const tags = ['Git'];

const getRefs = defineRoute({
  access: 'token',
  text: true,
  route: createRoute({
    method: 'get',
    path: '/git/{tenant}/{repo}/info/refs',
    summary: 'The refs to fetch or to push to: for git',
    tags,
    request: { params: Params, query: z.object({ service: z.string().optional() }) },
    responses: answers,
  }),
  handle: (c) =>
    forGit(c, async () => {
      const { service } = c.req.valid('query');
      // A request without a service uses the dumb protocol, which is refused, but only after authentication.
      const isPush = service === 'git-receive-pack';
      const remote = await remoteOf(c, isPush ? service : 'git-upload-pack');
      if (service !== 'git-upload-pack' && !isPush) throw notFound('service: use a git that speaks smart HTTP');
      const request = { protocol: c.req.header('git-protocol'), signal: clientSignal(c) };
      const refs = isPush ? await advertisePush(c.var.deps, remote) : await advertiseFetch(c.var.deps, remote, request);
      const type = `application/x-${service}-advertisement`;
      return c.body(new Uint8Array(refs), 200, { ...NO_CACHE, 'Content-Type': type });
    }),
});

const postFetch = defineRoute({
  access: 'token',
  text: true,
  maxBodyBytes: 'stream',
  route: createRoute({
    method: 'post',
    path: '/git/{tenant}/{repo}/git-upload-pack',
    summary: 'Fetch: for git',
    tags,
    request: { params: Params },
    responses: answers,
  }),
  handle: (c) =>
    forGit(c, async () => {
      const remote = await remoteOf(c, 'git-upload-pack');
      const request = { protocol: c.req.header('git-protocol'), ...bodyOf(c, FETCH_LONGEST_MS) };
      return streamed(c, await serveFetch(c.var.deps, remote, request), 'application/x-git-upload-pack-result');
    }),
});

const postPush = defineRoute({
  access: 'token',
  text: true,
  maxBodyBytes: 'stream',
  route: createRoute({
    method: 'post',
    path: '/git/{tenant}/{repo}/git-receive-pack',
    summary: 'Push: for git',
    tags,
    request: { params: Params },
    responses: answers,
  }),
  handle: (c) =>
    forGit(c, async () => {
      const remote = await remoteOf(c, 'git-receive-pack');
      return streamed(c, await receivePush(c.var.deps, remote, bodyOf(c)), 'application/x-git-receive-pack-result');
    }),
});

export const gitRoutes = [getRefs, postFetch, postPush];

/** The remote that the path names, if the key may access it. Session cookies are ignored. */
async function remoteOf(c: Context<AppEnv>, service: GitService): Promise<Remote> {
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
async function forGit(c: Context<AppEnv>, work: () => Promise<Response>): Promise<Response> {
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

/** The request's bytes as a stream, unpacked if gzipped. */
export function bodyOf(c: Context<AppEnv>, longestMs: number = LONGEST_MS): GitBody {
  const encoding = c.req.header('content-encoding');
  if (encoding !== undefined && !/^(x-)?gzip$/i.test(encoding))
    throw new Refusal('unsupported_type', 'a body may be packed with gzip, and with nothing else');
  return receiveBody(rawStream(c), { isGzip: encoding !== undefined, longestMs, left: clientSignal(c) });
}

/** A Node stream as a response. */
function streamed(c: Context<AppEnv>, stream: Readable, type: string): Response {
  return c.body(bodyStream(c, stream), 200, { ...NO_CACHE, 'Content-Type': type });
}

interface GitBody {
  readonly body: Readable;
  /** Aborted when the client leaves, is silent for too long or takes too long. */
  readonly signal: AbortSignal;
}

interface BodyInput {
  readonly isGzip: boolean;
  /** The maximum duration of the whole body. */
  readonly longestMs: number;
  /** Aborted when the client leaves. */
  readonly left: AbortSignal;
}

/**
 * Streams the bytes of a request. The body fails with `ClientLeft`, or with a `Refusal`: `timed_out` for a client that
 * is silent or too slow, `malformed` for bytes that are not gzip.
 */
export function receiveBody(source: Readable, { isGzip, longestMs, left }: BodyInput): GitBody {
  // The client may leave before a handler reads.
  const raw = withErrorListener(source);
  const late = new AbortController();
  let bytes = 0;
  const giveUp = (why: string) => late.abort(tooLate(bytes, why));
  const onIdle = () => {
    // While the reader is behind, the client waits for the service.
    if (raw.isPaused()) idle = setTimeout(onIdle, IDLE_MS);
    else giveUp(`nothing came for ${IDLE_MS / 1_000} s`);
  };
  let idle = setTimeout(onIdle, IDLE_MS);
  const whole = setTimeout(() => giveUp(`not all came within ${longestMs / 60_000} minutes`), longestMs);
  raw.on('data', (chunk: Buffer) => {
    bytes += chunk.byteLength;
    clearTimeout(idle);
    idle = setTimeout(onIdle, IDLE_MS);
  });
  const stop = () => {
    clearTimeout(idle);
    clearTimeout(whole);
  };
  raw.once('end', stop);
  raw.once('close', stop);
  raw.pause();
  const signal = AbortSignal.any([left, late.signal]);
  // Not the request itself: destroying it closes the connection before a refusal is sent.
  const body = withErrorListener(new PassThrough());
  if (isGzip) unzip(raw, body);
  else raw.pipe(body);
  const leave = () => body.destroy(signal.reason instanceof Refusal ? signal.reason : new ClientLeft());
  raw.once('close', () => {
    if (!raw.readableEnded) leave();
  });
  signal.addEventListener('abort', leave, { once: true });
  // A client that left before, during authentication for instance, causes no further event.
  if (raw.destroyed || signal.aborted) leave();
  return { body, signal };
}

function unzip(raw: Readable, body: PassThrough): void {
  const gunzip = createGunzip();
  gunzip.once('error', (error) => {
    body.destroy(new Refusal('malformed', `the body cannot be decoded as gzip: ${errorMessage(error)}`));
  });
  body.once('close', () => gunzip.destroy());
  raw.pipe(gunzip).pipe(body);
}

function tooLate(bytes: number, why: string): Refusal {
  return new Refusal('timed_out', `the request did not arrive in time: ${bytes} bytes came, then ${why}; try again`, {
    code: 'body-timeout',
  });
}
