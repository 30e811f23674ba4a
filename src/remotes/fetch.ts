import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Deps } from '../deps.js';
import { endOf, FLUSH, pktLine, type Repository, runGit, spawnGit } from '../git/index.js';
import { bodyTooLarge } from '../shared/content-coding.js';
import { notFound, Refusal } from '../shared/refusal.js';
import { createSharedSlots, createSlots } from '../shared/slots.js';
import { alignRefs } from '../workspaces/index.js';
import type { Remote } from './remote.js';
import { watchReader } from './watch-reader.js';

/** As many clones and fetches one process serves at once; each is a git of its own. One account has half of them at most. */
const slots = createSharedSlots(createSlots(8, 100), 4, 100);
/** Longer than the buffers on the way take to empty over a slow line. */
const STALLED_MS = 120_000;
/** Who has had a place for so long gives it to those who wait. */
const LONG_MS = 900_000;

/** Partial clones are served, and their later wants; nothing else that a client may ask is left to chance. */
const CONFIG = ['uploadpack.allowFilter=true', 'uploadpack.allowAnySHA1InWant=true', 'uploadpack.keepAlive=5'];
const LIMITS = { cpuSeconds: 600 };
/** Of what a client says it has and wants, unpacked: some hundred thousand commits. */
const MAX_REQUEST = 16 * 1024 * 1024;

export interface FetchRequest {
  /** The header `Git-Protocol`. */
  readonly protocol: string | undefined;
  readonly signal: AbortSignal;
}

/** What is there to be fetched, as a client asks it first (gitprotocol-http, "Smart Clients"). */
export async function advertiseFetch(deps: Deps, remote: Remote, { protocol, signal }: FetchRequest): Promise<Buffer> {
  const repository = await alignedRepository(deps, remote);
  const args = ['upload-pack', '--stateless-rpc', '--advertise-refs', '--end-of-options', repository.gitdir];
  const env = envOf(protocol);
  const { stdout } = await runGit(repository, args, { config: CONFIG, env, signal });
  if (env.GIT_PROTOCOL === 'version=2') return stdout;
  return Buffer.concat([pktLine('# service=git-upload-pack\n'), FLUSH, stdout]);
}

/** Answers a fetch, as a stream: the client's request goes in as it comes, and the pack comes out as it is made. */
export async function serveFetch(
  deps: Deps,
  remote: Remote,
  { protocol, signal, body }: FetchRequest & { readonly body: Readable },
): Promise<Readable> {
  const release = await slots.take(remote.caller.tenant);
  let upload: Upload;
  try {
    const repository = await alignedRepository(deps, remote);
    const isWaited = () => slots.waiting(remote.caller.tenant) > 0;
    upload = startUpload(deps, repository, { protocol, signal, body, release, isWaited });
  } catch (error) {
    release();
    throw error;
  }
  // A request that does not arrive whole can only be refused while there is no answer yet.
  await Promise.race([hasBegun(upload.out), upload.failed]);
  return upload.out;
}

/** Resolves at the first bytes of an answer, or at its end. */
function hasBegun(out: Readable): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      for (const event of BEGINNINGS) out.off(event, settle);
      resolve();
    };
    for (const event of BEGINNINGS) out.on(event, settle);
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
  /** Others wait for its place. */
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
    giveUp: () => out.destroy(new Error('the client does not take what it asked for')),
  });
  out.once('close', () => child.kill('SIGKILL'));
  // A client that leaves ends both; git has said what it found wrong in its own answer.
  const failed = new Promise<never>((_, reject) => {
    pipeline(body, atMost(MAX_REQUEST), child.stdin).catch((error: NodeJS.ErrnoException) => {
      if (error instanceof Refusal) reject(error);
      // A git that has read enough has shut its end, and goes on.
      if (error.code !== 'EPIPE') child.kill('SIGKILL');
    });
  });
  // It comes too late for an answer that has begun.
  failed.catch(() => out.destroy());
  endOf(child)
    .catch((err: unknown) => deps.log.error({ err }, 'git could not be started'))
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

/** Lets so many bytes through, and fails at the next. */
function atMost(bytes: number): Transform {
  let size = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.byteLength;
      done(size > bytes ? bodyTooLarge(bytes) : null, chunk);
    },
  });
}
