import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { alignRefs } from '../content/index.js';
import type { Deps } from '../deps.js';
import { endOf, FLUSH, pktLine, type Repository, runGit, spawnGit } from '../git/index.js';
import { bodyTooLarge } from '../shared/content-coding.js';
import { withErrorListener } from '../shared/error-listener.js';
import { notFound, Refusal } from '../shared/refusal.js';
import type { Remote } from './remote.js';
import { requestSlots } from './request-slots.js';

/**
 * How many clones and fetches one process serves at once, each with its own git process. One account gets half at most.
 */
const slots = requestSlots({ permits: 8, each: 4, waiting: 100 });

/** Longer than the network's buffers take to empty over a slow line. */
const STALLED_MS = 120_000;

/** After this time a request gives its slot to a waiting one. */
const LONG_MS = 900_000;

/** Allows partial clones and their later fetches of single objects. */
const CONFIG = ['uploadpack.allowFilter=true', 'uploadpack.allowAnySHA1InWant=true', 'uploadpack.keepAlive=5'];

const LIMITS = { cpuSeconds: 600 };

/** The maximum size of a client's list of haves and wants, uncompressed: some hundred thousand commits. */
const MAX_REQUEST = 16 * 1024 * 1024;

interface FetchRequest {
  /** The header `Git-Protocol`. */
  readonly protocol: string | undefined;
  readonly signal: AbortSignal;
}

/** The refs that a client may fetch (gitprotocol-http, "Smart Clients"). */
export async function advertiseFetch(deps: Deps, remote: Remote, { protocol, signal }: FetchRequest): Promise<Buffer> {
  const repository = await alignedRepository(deps, remote);
  const args = ['upload-pack', '--stateless-rpc', '--advertise-refs', '--end-of-options', repository.gitdir];
  const env = envOf(protocol);
  const { stdout } = await runGit(repository, args, { config: CONFIG, env, signal });
  if (env.GIT_PROTOCOL === 'version=2') return stdout;
  return Buffer.concat([pktLine('# service=git-upload-pack\n'), FLUSH, stdout]);
}

/** Answers a fetch, streaming the request into git and the pack out of it. */
export async function serveFetch(
  deps: Deps,
  remote: Remote,
  { protocol, signal, body }: FetchRequest & { readonly body: Readable },
): Promise<Readable> {
  const release = await slots.acquire(remote.caller.tenant);
  let upload: Upload;
  try {
    const repository = await alignedRepository(deps, remote);
    const isWaited = () => slots.waiting(remote.caller.tenant) > 0;
    upload = startUpload(deps, repository, { protocol, signal, body, release, isWaited });
  } catch (error) {
    release();
    throw error;
  }
  // An incomplete request can only be refused before the answer has started.
  await Promise.race([hasBegun(upload.out), upload.failed]);
  return upload.out;
}

/** Resolves at the first bytes of an answer, or at its end. */
function hasBegun(out: Readable): Promise<void> {
  return new Promise((resolve) => {
    const onBegin = () => {
      for (const event of BEGINNINGS) out.off(event, onBegin);
      resolve();
    };
    for (const event of BEGINNINGS) out.on(event, onBegin);
  });
}

const BEGINNINGS = ['readable', 'end', 'close'] as const;

interface Upload {
  readonly out: Readable;
  /** Rejects with the refusal of a request that is too long, silent or not gzip. */
  readonly failed: Promise<never>;
}

interface UploadInput extends FetchRequest {
  readonly body: Readable;
  readonly release: () => void;
  /** True when other requests wait for a slot. */
  readonly isWaited: () => boolean;
}

function startUpload(
  deps: Deps,
  repository: Repository,
  { protocol, signal, body, release, isWaited }: UploadInput,
): Upload {
  const args = ['upload-pack', '--stateless-rpc', '--strict', '--end-of-options', repository.gitdir];
  const child = spawnGit(repository, args, { config: CONFIG, env: envOf(protocol), limits: LIMITS, signal });
  child.stderr.resume();
  const began = Date.now();
  const out = watchReader(child.stdout, {
    stalledMs: STALLED_MS,
    isOver: () => isWaited() && Date.now() - began > LONG_MS,
    giveUp: () => out.destroy(new Error('the client does not read the answer')),
  });
  out.once('close', () => child.kill('SIGKILL'));
  // A client that disconnects ends both streams. Errors of git are part of its answer.
  const failed = new Promise<never>((_, reject) => {
    pipeline(body, atMost(MAX_REQUEST), child.stdin).catch((error: NodeJS.ErrnoException) => {
      if (error instanceof Refusal) reject(error);
      // EPIPE: git has read enough and closed its input, and is still running.
      if (error.code !== 'EPIPE') child.kill('SIGKILL');
    });
  });
  // An answer that has started cannot become a refusal, so it is cut off.
  failed.catch(() => out.destroy());
  endOf(child)
    .catch((err: unknown) => deps.log.error({ err }, 'failed to start git'))
    .finally(release);
  return { out, failed };
}

async function alignedRepository(deps: Deps, remote: Remote): Promise<Repository> {
  const repository = await alignRefs(deps, remote.id);
  if (!repository) throw notFound('repository');
  return repository;
}

function envOf(protocol: string | undefined): Readonly<Record<string, string>> {
  return protocol !== undefined && /^version=[012]$/.test(protocol) ? { GIT_PROTOCOL: protocol } : {};
}

/** Fails when more than this number of bytes pass. */
function atMost(bytes: number): Transform {
  let size = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.byteLength;
      done(size > bytes ? bodyTooLarge(bytes) : null, chunk);
    },
  });
}

interface Pace {
  /** A reader that reads none of the available bytes for this time is cut off. */
  readonly stalledMs: number;
  /** Polled while the reader is active; true cuts it off too. */
  readonly isOver: () => boolean;
  readonly giveUp: () => void;
}

/**
 * Passes a stream on and watches its reader's progress instead of the total time: a slow line may take as long as it
 * needs, a dead or stalled one is cut off. Time that the source takes does not count.
 */
export function watchReader(source: Readable, { stalledMs, isOver, giveUp }: Pace): Readable {
  let given = 0;
  let seen = { taken: 0, at: Date.now() };
  const out = withErrorListener(
    new Transform({
      transform(chunk: Buffer, _encoding, done) {
        given += chunk.byteLength;
        done(null, chunk);
      },
    }),
  );
  const watch = setInterval(() => {
    const taken = given - out.readableLength;
    if (taken !== seen.taken || out.readableLength === 0) seen = { taken, at: Date.now() };
    if (Date.now() - seen.at >= stalledMs || isOver()) giveUp();
  }, stalledMs / 8);
  out.once('close', () => {
    clearInterval(watch);
    source.destroy();
  });
  source.once('error', (error) => out.destroy(error));
  return source.pipe(out);
}
