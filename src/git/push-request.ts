import type { Readable } from 'node:stream';
import { decodeUtf8 } from '../shared/utf8.js';
import { PktReader, WireFault } from './pkt-line.js';

/** One ref of a push (gitprotocol-pack, "Reference Update Request"). A null `old` creates the ref, a null `new` deletes it. */
export interface RefCommand {
  readonly ref: string;
  readonly old: string | null;
  readonly new: string | null;
}

export interface PushRequest {
  readonly commands: readonly RefCommand[];
  readonly capabilities: ReadonlySet<string>;
  /** Why the push is too large, as far as known before its pack is read; null when it is not. */
  readonly fault: string | null;
  /** The pack's bytes; null without a pack, or for a pack without objects. */
  readonly pack: AsyncIterable<Buffer> | null;
}

const MAX_COMMANDS = 500;
/** A push has one line per ref, and one per boundary commit of a shallow clone. */
const MAX_LINES = 10_000;
const MAX_OBJECTS = 300_000;
const NONE = '0'.repeat(40);
const COMMAND = /^([0-9a-f]{40}) ([0-9a-f]{40}) ([^\0\n]+)\n?$/;

/** Reads a push up to its pack, whose bytes the caller reads. Throws `WireFault` for an invalid request. */
export async function readPushRequest(body: Readable): Promise<PushRequest> {
  const reader = new PktReader(body);
  const commands: RefCommand[] = [];
  let capabilities: ReadonlySet<string> = new Set();
  let lines = 0;
  for (let line = await reader.line(); line; line = await reader.line()) {
    lines += 1;
    if (lines > MAX_LINES) throw new WireFault(`more than ${MAX_LINES} lines before the pack`);
    const zero = line.indexOf(0);
    if (zero >= 0)
      capabilities = new Set(
        line
          .subarray(zero + 1)
          .toString('utf8')
          .trim()
          .split(' '),
      );
    const text = utf8(zero >= 0 ? line.subarray(0, zero) : line);
    if (/^shallow [0-9a-f]{40}\n?$/.test(text)) continue;
    if (text.startsWith('push-cert')) throw new WireFault('signed pushes are not supported: push without --signed');
    commands.push(parseCommand(text));
  }
  if (commands.length > MAX_COMMANDS) {
    const fault = `the push has ${commands.length} refs, the most is ${MAX_COMMANDS}: push fewer at once`;
    return { commands, capabilities, fault, pack: reader.rest() };
  }
  if (!commands.some((command) => command.new !== null)) return { commands, capabilities, fault: null, pack: null };
  return { commands, capabilities, ...(await openPack(reader)) };
}

function parseCommand(text: string): RefCommand {
  const [, old = '', next = '', ref = ''] = COMMAND.exec(text) ?? [];
  if (ref === '') throw new WireFault('a line of the push is not a ref update');
  return { ref, old: old === NONE ? null : old, new: next === NONE ? null : next };
}

function utf8(bytes: Buffer): string {
  const text = decodeUtf8(bytes);
  if (text === null) throw new WireFault('the name of a ref is not UTF-8');
  return text;
}

/** Reads the header of a pack: `PACK`, the version and the number of objects (gitformat-pack). */
async function openPack(reader: PktReader): Promise<Pick<PushRequest, 'fault' | 'pack'>> {
  const head = await reader.bytes(12);
  if (head?.subarray(0, 4).toString('latin1') !== 'PACK') throw new WireFault('the push has no pack');
  const count = head.readUInt32BE(8);
  const fault = count > MAX_OBJECTS ? `the push has ${count} objects, the most is ${MAX_OBJECTS}` : null;
  if (count > 0) return { fault, pack: joined(head, reader) };
  for await (const _ of reader.rest()) void _;
  return { fault, pack: null };
}

async function* joined(head: Buffer, reader: PktReader): AsyncGenerator<Buffer> {
  yield head;
  yield* reader.rest();
}
