import type { Writable } from 'node:stream';
import { Refusal } from '../shared/refusal.js';
import { toStorageError } from '../shared/storage-unavailable.js';
import { type KeptPack, packIn, type Quarantine } from './packs.js';
import { WireFault } from './pkt-line.js';
import { readBatch } from './read-tree.js';
import type { GitObject, Repository } from './repository.js';
import { endOf, runGit, spawnGit } from './run-git.js';

const MIB = 1024 * 1024;

/** Limits of a push. The size of a pack says little about its content: 300 KiB may unpack to 300 MiB. */
export interface PushLimits {
  readonly packBytes: number;
  /** The maximum size of one object, unpacked. */
  readonly objectBytes: number;
  /** The maximum size of all objects together, unpacked. */
  readonly totalBytes: number;
}

export const PUSH_LIMITS: PushLimits = { packBytes: 256 * MIB, objectBytes: 32 * MIB, totalBytes: 1_024 * MIB };

/**
 * Below these sizes of the pack and of its unpacked output, a push is read into memory, so that later reads of its
 * objects need no git process.
 */
const SMALL = { packBytes: 256 * 1024, outputBytes: 4 * MIB };

/** Limits of memory and CPU for a git process that reads untrusted input. */
const CHILD = { memoryBytes: 1_024 * MIB, cpuSeconds: 90 };

/**
 * Writes a pushed pack to the quarantine, checks every object as `receive.fsckObjects` does, and returns the repository
 * including the pack. Throws a `WireFault` for an invalid pack, or the `Refusal` that the body failed with. Then the
 * caller removes the quarantine.
 */
export async function receivePack(
  quarantine: Quarantine,
  pack: AsyncIterable<Buffer>,
  { limits = PUSH_LIMITS, signal }: { readonly limits?: PushLimits; readonly signal?: AbortSignal } = {},
): Promise<Repository> {
  const args = ['index-pack', '--stdin', '--fix-thin', '--strict', `--max-input-size=${limits.packBytes}`];
  const child = spawnGit(quarantine.inside, args, {
    limits: { ...CHILD, fileBytes: limits.packBytes + 64 * MIB },
    signal,
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-8_000);
  });
  child.stdout.resume();
  const [code, fault] = await Promise.all([endOf(child), feed(pack, child.stdin, limits.packBytes)]);
  if (fault instanceof WireFault || fault instanceof Refusal) throw fault;
  const taken = code === 0 ? await packIn(quarantine) : null;
  if (!taken) throw toStorageError(new WireFault(reasonOf(stderr, code)));
  const objects = await readSmall(quarantine, taken);
  if (objects) return { ...quarantine.inside, objects };
  await checkSizes(quarantine, limits);
  return quarantine.inside;
}

/** All objects of a small pack; null when the pack or its content is too large. */
async function readSmall(quarantine: Quarantine, { size }: KeptPack): Promise<ReadonlyMap<string, GitObject> | null> {
  if (size > SMALL.packBytes) return null;
  const args = ['cat-file', '--batch-all-objects', '--unordered', '--buffer', '--batch'];
  const { stdout, cut } = await runGit(alone(quarantine), args, { maxBytes: SMALL.outputBytes, limits: CHILD });
  return cut ? null : readBatch(stdout);
}

/** The quarantine without the repository behind it. */
function alone({ folder, inside: { gitdir } }: Quarantine): Repository {
  return { gitdir, env: { GIT_OBJECT_DIRECTORY: folder } };
}

/** How many bytes of a refused pack are read, so that the client then reads the answer. */
const READ_ON = 1_024 * MIB;

/** Reads a refused pack to its end, since a git client reads the answer only after it has sent everything. */
export async function discardPack(pack: AsyncIterable<Buffer>): Promise<void> {
  let size = 0;
  for await (const chunk of pack) {
    size += chunk.byteLength;
    if (size > READ_ON) return;
  }
}

/**
 * Feeds git as fast as it reads. Reads the body to its end even when git fails, since a client that is cut off while it
 * sends never reads the answer. Returns the fault of the body.
 */
async function feed(pack: AsyncIterable<Buffer>, git: Writable, most: number): Promise<unknown> {
  let isOpen = true;
  const closed = new Promise<void>((resolve) => git.once('close', resolve));
  void closed.then(() => {
    isOpen = false;
  });
  const fault = new WireFault(`the push has more than ${most / MIB} MiB, which is the limit`);
  let size = 0;
  try {
    for await (const chunk of pack) {
      size += chunk.byteLength;
      if (size > READ_ON) break;
      if (size > most) git.destroy();
      else if (isOpen && !git.write(chunk)) await Promise.race([drained(git), closed]);
    }
    git.end();
    return size > most ? fault : null;
  } catch (error) {
    git.destroy();
    return error;
  }
}

function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => stream.once('drain', resolve));
}

/** git prints nothing when a limit ends it; after a fault its last line is the reason. */
function reasonOf(stderr: string, code: number | null): string {
  const lines = stderr.split('\n').filter((line) => /^(fatal|error):/.test(line));
  if (lines.length > 0) return lines.map((line) => line.replace(/^(fatal|error): /, '')).join('; ');
  return code === null || code > 127
    ? 'reading the push took more memory or time than a push may take'
    : 'the pack could not be read';
}

/** Checks the unpacked sizes of the objects without unpacking them. */
async function checkSizes(quarantine: Quarantine, limits: PushLimits): Promise<void> {
  const { stdout } = await runGit(alone(quarantine), [
    'cat-file',
    '--batch-all-objects',
    '--unordered',
    '--batch-check=%(objectsize)',
  ]);
  let total = 0;
  for (const line of stdout.toString('latin1').split('\n')) {
    const size = Number(line);
    total += size;
    if (size > limits.objectBytes)
      throw new WireFault(`an object of the push has ${size} bytes unpacked; the most is ${limits.objectBytes}`);
  }
  if (total > limits.totalBytes)
    throw new WireFault(`the push has ${total} bytes unpacked; the most is ${limits.totalBytes}`);
}
