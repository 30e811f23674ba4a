import { expect, test } from 'vitest';
import {
  TextDecoderStream as ThinDecoder,
  ReadableStream as ThinReadable,
  TransformStream as ThinTransform,
} from '../../src/models/wire/thin-streams.js';
import { fc } from '../support/properties.js';

const WEB = { ReadableStream, TransformStream, TextDecoderStream };
// The SDK uses them through the types of the global ones.
const THIN = {
  ReadableStream: ThinReadable,
  TransformStream: ThinTransform,
  TextDecoderStream: ThinDecoder,
} as unknown as typeof WEB;

type Kind = typeof WEB;

/** What a stage does with each chunk, and at its end. */
type Stage = 'pass' | 'drop-odd' | 'double' | 'late' | 'flush';
type Break = 'throw' | 'error' | 'terminate' | 'flush-throws';
interface Plan {
  readonly chunks: readonly number[];
  readonly stages: readonly Stage[];
  /** One stage breaks at one of its chunks, or the source breaks (a stage beyond the last one). */
  readonly broken: { readonly stage: number; readonly at: number; readonly how: Break } | null;
}

function sourceOf({ ReadableStream: Readable }: Kind, { chunks, stages, broken }: Plan): ReadableStream<number> {
  let at = 0;
  return new Readable<number>({
    async pull(controller) {
      await undefined;
      if (broken && broken.stage >= stages.length && broken.at === at) throw new Error('broken source');
      const chunk = chunks[at];
      at += 1;
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk);
    },
  });
}

function stageOf({ TransformStream: Transform }: Kind, stage: Stage, broken: Plan['broken']) {
  let seen = 0;
  return new Transform<number, number>({
    async transform(chunk, controller) {
      const isBroken = broken?.at === seen;
      seen += 1;
      if (isBroken && broken.how === 'throw') throw new Error('broken stage');
      if (isBroken && broken.how === 'error') return controller.error(new Error('broken stage'));
      if (isBroken && broken.how === 'terminate') return controller.terminate();
      if (stage === 'late') await new Promise((resolve) => setImmediate(resolve));
      if (stage === 'drop-odd' && chunk % 2 === 1) return;
      controller.enqueue(chunk);
      if (stage === 'double') controller.enqueue(-chunk);
    },
    flush(controller) {
      if (broken?.how === 'flush-throws') throw new Error('broken flush');
      if (stage === 'flush') controller.enqueue(1_000);
    },
  });
}

/** Which kind of stream each stage is of: the last ones may be the SDK's own. */
async function run(plan: Plan, kindOf: (stage: number) => Kind) {
  let stream = sourceOf(kindOf(0), plan);
  for (const [n, stage] of plan.stages.entries())
    stream = stream.pipeThrough(stageOf(kindOf(n), stage, plan.broken?.stage === n ? plan.broken : null));
  const chunks: number[] = [];
  try {
    for await (const chunk of stream) chunks.push(chunk);
    return { chunks, end: 'closed' };
  } catch (error) {
    return { chunks, end: String(error) };
  }
}

const PLAN: fc.Arbitrary<Plan> = fc.record({
  chunks: fc.array(fc.nat(50), { maxLength: 12 }),
  stages: fc.array(fc.constantFrom<Stage>('pass', 'drop-odd', 'double', 'late', 'flush'), { maxLength: 5 }),
  broken: fc.option(
    fc.record({
      stage: fc.nat(5),
      at: fc.nat(6),
      how: fc.constantFrom<Break>('throw', 'error', 'terminate', 'flush-throws'),
    }),
  ),
});

test('stages give the chunks, the order and the error of web streams, also before a web stage', async () => {
  await fc.assert(
    fc.asyncProperty(PLAN, fc.nat(6), async (plan, thinStages) => {
      const web = await run(plan, () => WEB);
      for (const kindOf of [() => THIN, (stage: number) => (stage < thinStages || stage === 0 ? THIN : WEB)]) {
        const own = await run(plan, kindOf);
        expect(own.end).toBe(web.end);
        // A web stream drops what is queued before an error. Here it is read.
        if (web.end === 'closed') expect(own.chunks).toEqual(web.chunks);
        else expect(own.chunks.slice(0, web.chunks.length)).toEqual(web.chunks);
      }
    }),
  );
});

test('text is decoded as a web stream decodes it, in whatever pieces the bytes come', async () => {
  const bytes = fc.oneof(
    fc.string({ unit: 'binary' }).map((text) => new TextEncoder().encode(`\uFEFF${text}`)),
    fc.uint8Array({ maxLength: 40 }),
  );
  await fc.assert(
    fc.asyncProperty(bytes, fc.array(fc.nat(40), { maxLength: 6 }), async (whole, cuts) => {
      const read = async ({ ReadableStream: Readable, TextDecoderStream: Decoder }: Kind) => {
        const ends = [...cuts.filter((cut) => cut < whole.length), whole.length].sort((a, b) => a - b);
        let from = 0;
        const source = new Readable<Uint8Array<ArrayBuffer>>({
          pull(controller) {
            const end = ends.shift();
            if (end === undefined) return controller.close();
            controller.enqueue(whole.slice(from, end));
            from = end;
          },
        });
        let text = '';
        for await (const part of source.pipeThrough(new Decoder())) text += part;
        return text;
      };
      expect(await read(THIN)).toBe(await read(WEB));
    }),
  );
});

/** A source that counts its reads and cancels; a read beyond `limit` waits until it is cancelled. */
function endless(limit = Number.POSITIVE_INFINITY) {
  const noted = { reads: 0, cancels: 0 };
  const stop = withRejecter();
  stop.promise.catch(() => undefined);
  const stream = new THIN.ReadableStream<number>({
    async pull(controller) {
      noted.reads += 1;
      if (noted.reads > limit) await stop.promise;
      else controller.enqueue(noted.reads);
    },
    cancel() {
      noted.cancels += 1;
      stop.reject(new Error('cancelled'));
    },
  });
  return { noted, stream };
}

function withRejecter() {
  let reject: (reason: Error) => void = () => undefined;
  const promise = new Promise<void>((_resolve, rejects) => {
    reject = rejects;
  });
  return { promise, reject: (reason: Error) => reject(reason) };
}

test('a source is read only on demand, and a reader that stops cancels it once', async () => {
  const { noted, stream } = endless();
  const staged = stream.pipeThrough(stageOf(THIN, 'pass', null)).pipeThrough(stageOf(THIN, 'pass', null));
  for await (const chunk of staged) if (chunk === 3) break;
  expect(noted).toEqual({ reads: 3, cancels: 1 });
  const reader = staged.getReader();
  await reader.cancel();
  expect(await reader.read()).toEqual({ done: true, value: undefined });
  expect(noted).toEqual({ reads: 3, cancels: 1 });
});

test('a stage that fails cancels its source, and fails every later read', async () => {
  const { noted, stream } = endless();
  const reader = stream.pipeThrough(stageOf(THIN, 'pass', { stage: 0, at: 1, how: 'throw' })).getReader();
  expect(await reader.read()).toEqual({ done: false, value: 1 });
  await expect(reader.read()).rejects.toThrow('broken stage');
  await expect(reader.read()).rejects.toThrow('broken stage');
  expect(noted).toEqual({ reads: 2, cancels: 1 });
});

test('a cancel while a read waits ends the read', async () => {
  const { noted, stream } = endless(1);
  const reader = stream.pipeThrough(stageOf(THIN, 'pass', null)).getReader();
  await reader.read();
  const waiting = reader.read();
  await expect.poll(() => noted.reads).toBe(2);
  await reader.cancel();
  expect(await waiting).toEqual({ done: true, value: undefined });
  expect(noted.cancels).toBe(1);
});

test('after tee both branches read everything, and a cancel of both while a read waits ends it', async () => {
  const { noted, stream } = endless(2);
  const [first, second] = stream.pipeThrough(stageOf(THIN, 'pass', null)).tee();
  const readers = [first.getReader(), second.getReader()];
  for (const reader of readers) {
    expect((await reader.read()).value).toBe(1);
    expect((await reader.read()).value).toBe(2);
  }
  const waiting = readers.map((reader) => reader.read());
  await expect.poll(() => noted.reads).toBe(3);
  await Promise.all(readers.map((reader) => reader.cancel()));
  expect(await Promise.all(waiting)).toEqual([
    { done: true, value: undefined },
    { done: true, value: undefined },
  ]);
  expect(noted.cancels).toBe(1);
});

test('a source may enqueue long after it was asked, and a start that fails fails the read', async () => {
  const pushed = new THIN.ReadableStream<string>({
    start(controller) {
      setImmediate(() => {
        controller.enqueue('late');
        setImmediate(() => controller.close());
      });
    },
  });
  const read: string[] = [];
  for await (const chunk of pushed) read.push(chunk);
  expect(read).toEqual(['late']);
  const failing = new THIN.ReadableStream({ start: () => Promise.reject(new Error('no start')) });
  await expect(failing.getReader().read()).rejects.toThrow('no start');
});
