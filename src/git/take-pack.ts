import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type KeptPack, packIn, type Quarantine } from './packs.js';
import { WireFault } from './pkt-line.js';
import { endOf, runGit, spawnGit } from './run-git.js';

const MIB = 1024 * 1024;

/** What a push may bring. A pack's bytes say little of what is in it: 300 MiB come in as 300 KiB. */
export interface PushLimits {
  readonly packBytes: number;
  /** Of one object, unpacked. */
  readonly objectBytes: number;
  /** Of all objects, unpacked. */
  readonly totalBytes: number;
}

export const PUSH_LIMITS: PushLimits = { packBytes: 256 * MIB, objectBytes: 32 * MIB, totalBytes: 1_024 * MIB };

/** Memory and CPU of the git that reads what a stranger sent. */
const CHILD = { memoryBytes: 1_024 * MIB, cpuSeconds: 90 };

/**
 * Takes a pushed pack into the quarantine, checked object for object as `receive.fsckObjects` does. Throws `WireFault`
 * with what is wrong with it; then the quarantine is to be removed.
 */
export async function takePushedPack(
  quarantine: Quarantine,
  pack: AsyncIterable<Buffer>,
  { limits = PUSH_LIMITS, signal }: { readonly limits?: PushLimits; readonly signal?: AbortSignal } = {},
): Promise<KeptPack> {
  const args = ['index-pack', '--stdin', '--fix-thin', '--strict', `--max-input-size=${limits.packBytes}`];
  const child = spawnGit(quarantine.inside, args, {
    limits: { ...CHILD, fileBytes: limits.packBytes + 64 * MIB },
    signal,
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-8_000);
  });
  child.stdout.resume();
  let tooLong = false;
  const counted = countBytes(limits.packBytes, () => {
    tooLong = true;
  });
  const fed = pipeline(Readable.from(pack), counted, child.stdin).catch((error: unknown) => error);
  const [code, fault] = await Promise.all([endOf(child), fed]);
  if (tooLong) throw new WireFault(`the push has more than ${limits.packBytes / MIB} MiB; the most is that`);
  if (fault instanceof WireFault) throw fault;
  const taken = code === 0 ? await packIn(quarantine) : null;
  if (!taken) throw new WireFault(reasonOf(said, code));
  await checkSizes(quarantine, limits);
  return taken;
}

function countBytes(most: number, onMore: () => void): Transform {
  let size = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.byteLength;
      if (size <= most) return done(null, chunk);
      onMore();
      done(new WireFault('too long'));
    },
  });
}

/** A git that was ended by a limit has said nothing; one that found a fault says it last. */
function reasonOf(said: string, code: number | null): string {
  const lines = said.split('\n').filter((line) => /^(fatal|error):/.test(line));
  if (lines.length > 0) return lines.map((line) => line.replace(/^(fatal|error): /, '')).join('; ');
  return code === null || code > 127
    ? 'reading the push took more memory or time than a push may take'
    : 'the pack could not be read';
}

/** What the objects are when they are unpacked, without unpacking them. */
async function checkSizes({ folder, inside }: Quarantine, limits: PushLimits): Promise<void> {
  const alone = { ...inside, env: { GIT_OBJECT_DIRECTORY: folder } };
  const { stdout } = await runGit(alone, [
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
