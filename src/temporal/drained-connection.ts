import {
  Connection,
  type ConnectionOptions,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
} from '@temporalio/client';

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];

/** The calls on one connection, each from its start to its last status, with the pauses between its tries. */
class PendingCalls {
  #count = 0;
  #whenIdle: (() => void)[] = [];

  /** The outermost one: within it are all tries of a call. */
  readonly interceptor: Interceptor = (options, nextCall) => {
    const call = nextCall(options);
    const start = call.start.bind(call);
    call.start = (metadata, listener) => {
      this.#count += 1;
      const counted = {
        ...(listener?.onReceiveMetadata && { onReceiveMetadata: listener.onReceiveMetadata.bind(listener) }),
        ...(listener?.onReceiveMessage && { onReceiveMessage: listener.onReceiveMessage.bind(listener) }),
        onReceiveStatus: (status) => {
          this.#end();
          listener?.onReceiveStatus?.(status);
        },
      } satisfies Parameters<typeof start>[1];
      try {
        start(metadata, counted);
      } catch (error) {
        this.#end();
        throw error;
      }
    };
    // The call of the next interceptor, which grpc-js declares by its interface here and by its class there.
    return call as ReturnType<Interceptor>;
  };

  idle(): Promise<void> {
    return this.#count === 0 ? Promise.resolve() : new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  #end(): void {
    this.#count -= 1;
    if (this.#count > 0) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }
}

/**
 * A client's connection that is closed only when no call is on it: the SDK's retry timer throws on a closed channel,
 * where no caller can catch it (SDK 1.24).
 */
export class DrainedConnection extends Connection {
  #calls: PendingCalls | null = null;

  /** Makes no connection yet: the first call does. */
  static open(options: Omit<ConnectionOptions, 'interceptors'>): DrainedConnection {
    const calls = new PendingCalls();
    const interceptors = [calls.interceptor, makeGrpcRetryInterceptor(defaultGrpcRetryOptions())];
    const connection = DrainedConnection.lazy({ ...options, interceptors }) as DrainedConnection;
    connection.#calls = calls;
    return connection;
  }

  /** Waits for the calls that are on it, and for their retries; then closes. */
  override async close(): Promise<void> {
    await this.#calls?.idle();
    await super.close();
  }
}
