import type { ReadableWritablePair } from 'node:stream/web';

/** What a thin stream reads from. A read begins after the last one has ended; a cancel may come at any time. */
export interface ThinSource<T> {
  next(): Promise<IteratorResult<T, undefined>>;
  cancel(): void;
}

/**
 * A stream within this process. A web stream costs a dozen promises per chunk and stage, and a model's answer passes
 * five stages in its SDK; here a read pulls a chunk through all of them. The build gives these to the SDK in place of
 * the global ones (scripts/lib/thin-streams.mjs). Any other stage gets a web stream.
 */
export class ThinStream<T> implements AsyncIterable<T> {
  constructor(private readonly source: ThinSource<T>) {}

  pipeThrough<O>(stage: ThinTransform<T, O> | ReadableWritablePair<O, T>): ThinStream<O> | ReadableStream<O> {
    return 'readsFrom' in stage ? stage.readsFrom(this.source) : this.toWeb().pipeThrough(stage);
  }

  tee(): [ReadableStream<T>, ReadableStream<T>] {
    return this.toWeb().tee();
  }

  getReader(): Pick<ReadableStreamDefaultReader<T>, 'read' | 'cancel' | 'releaseLock'> {
    return { read: () => this.source.next(), cancel: () => this.cancel(), releaseLock: () => undefined };
  }

  async cancel(): Promise<void> {
    this.source.cancel();
  }

  toWeb(): ReadableStream<T> {
    const { source } = this;
    return new globalThis.ReadableStream<T>(
      {
        async pull(controller) {
          const { done, value } = await source.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
        cancel: () => source.cancel(),
      },
      { highWaterMark: 0 },
    );
  }

  [Symbol.asyncIterator](): AsyncIterator<T, undefined> {
    const { source } = this;
    return {
      next: () => source.next(),
      async return() {
        source.cancel();
        return { done: true, value: undefined };
      },
    };
  }
}

interface ThinController<T> {
  enqueue(chunk: T): void;
  error(reason: unknown): void;
  terminate(): void;
  close(): void;
}

/** Chunks that are made on demand: only when those before are used up, so nothing accumulates. */
class ThinQueue<T> implements ThinSource<T> {
  private ready: T[] = [];
  private at = 0;
  private isOver = false;
  private isCancelled = false;
  private failure: { readonly reason: unknown } | null = null;
  private starting: Promise<unknown> | null = null;
  private onNews: (() => void) | null = null;
  readonly controller: ThinController<T> = {
    enqueue: (chunk) => {
      if (this.isOver) throw new TypeError('the stream is closed');
      this.ready.push(chunk);
      this.onNews?.();
    },
    error: (reason) => {
      this.failure ??= { reason };
      this.onNews?.();
    },
    terminate: () => this.end(),
    close: () => this.end(),
  };
  pull: () => unknown = () => this.end();
  onCancel: () => unknown = () => undefined;
  onFailure: () => void = () => undefined;

  startsAfter(work: unknown): void {
    if (work === undefined) return;
    this.starting = Promise.resolve(work);
    // The next read reports it.
    this.starting.catch(() => undefined);
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    try {
      for (;;) {
        const chunk = this.take();
        if (chunk !== null) return chunk;
        if (this.failure !== null) break;
        if (this.isOver) return { done: true, value: undefined };
        if (this.starting !== null) await this.starting;
        this.starting = null;
        await this.pull();
      }
    } catch (error) {
      this.failure ??= { reason: error };
    }
    if (this.isCancelled) return { done: true, value: undefined };
    this.onFailure();
    throw this.failure?.reason;
  }

  cancel(): void {
    if (this.failure !== null || (this.isOver && this.isEmpty())) return;
    this.isCancelled = true;
    this.ready = [];
    this.at = 0;
    this.end();
    const { onCancel } = this;
    void (async () => onCancel())().catch(() => undefined);
  }

  /** Resolves when a read can continue: a source may enqueue long after its `pull`. */
  async news(): Promise<void> {
    if (this.isOver || this.failure !== null || !this.isEmpty()) return;
    await new Promise<void>((resolve) => {
      this.onNews = resolve;
    });
    this.onNews = null;
  }

  private isEmpty(): boolean {
    return this.at === this.ready.length;
  }

  private end(): void {
    this.isOver = true;
    this.onNews?.();
  }

  private take(): IteratorYieldResult<T> | null {
    if (!this.isEmpty()) {
      this.at += 1;
      return { done: false, value: this.ready[this.at - 1] as T };
    }
    this.ready = [];
    this.at = 0;
    return null;
  }
}

interface ThinUnderlying<T> {
  start?(controller: ThinController<T>): unknown;
  pull?(controller: ThinController<T>): unknown;
  cancel?(): unknown;
}

class ThinReadable<T> extends ThinStream<T> {
  constructor({ start, pull, cancel }: ThinUnderlying<T>) {
    const queue = new ThinQueue<T>();
    queue.startsAfter(start?.(queue.controller));
    queue.pull = async () => {
      await pull?.(queue.controller);
      await queue.news();
    };
    queue.onCancel = () => cancel?.();
    super(queue);
  }
}

interface ThinTransformer<I, O> {
  start?(controller: ThinController<O>): unknown;
  transform?(chunk: I, controller: ThinController<O>): unknown;
  flush?(controller: ThinController<O>): unknown;
}

class ThinTransform<I, O> {
  private readonly queue = new ThinQueue<O>();

  constructor(private readonly transformer: ThinTransformer<I, O> = {}) {
    this.queue.startsAfter(transformer.start?.(this.queue.controller));
  }

  readsFrom(source: ThinSource<I>): ThinStream<O> {
    const { queue, transformer } = this;
    const { controller } = queue;
    const terminate = controller.terminate;
    controller.terminate = () => {
      terminate();
      source.cancel();
    };
    queue.onCancel = () => source.cancel();
    queue.onFailure = () => source.cancel();
    queue.pull = async () => {
      const { done, value } = await source.next();
      if (!done) return transformer.transform?.(value, controller);
      await transformer.flush?.(controller);
      controller.close();
    };
    return new ThinStream(queue);
  }
}

class ThinTextDecoder extends ThinTransform<Uint8Array, string> {
  constructor() {
    const decoder = new TextDecoder();
    const enqueue = (text: string, controller: ThinController<string>) => {
      if (text !== '') controller.enqueue(text);
    };
    super({
      transform: (chunk, controller) => enqueue(decoder.decode(chunk, { stream: true }), controller),
      flush: (controller) => enqueue(decoder.decode(), controller),
    });
  }
}

export { ThinReadable as ReadableStream, ThinTextDecoder as TextDecoderStream, ThinTransform as TransformStream };
