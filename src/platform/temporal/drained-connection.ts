import { Connection, type ConnectionOptions } from '@temporalio/client';

/** The pending calls on one connection, each from its start to its answer, retries included. */
class PendingCalls {
  #count = 0;
  #whenIdle: (() => void)[] = [];

  /** Wraps the service so that its calls are counted. */
  count<T extends object>(service: T): T {
    const counted =
      (method: (...args: unknown[]) => Promise<unknown>) =>
      (...args: unknown[]) => {
        this.#count += 1;
        return method.apply(service, args).finally(() => this.#end());
      };
    return Object.fromEntries(
      Object.entries(service).map(([name, method]) => [name, typeof method === 'function' ? counted(method) : method]),
    ) as T;
  }

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
 * A client's connection that closes only when no call is pending: the SDK's retry timer throws on a closed channel,
 * where no caller can catch it (SDK 1.24). Only calls of its `workflowService` are counted, as no others are made.
 */
export class DrainedConnection extends Connection {
  #calls: PendingCalls | null = null;

  /** Does not connect yet: the first call does. */
  static open(options: ConnectionOptions): DrainedConnection {
    const connection = DrainedConnection.lazy(options) as DrainedConnection;
    const calls = new PendingCalls();
    connection.#calls = calls;
    return Object.assign(connection, { workflowService: calls.count(connection.workflowService) });
  }

  /** Waits for pending calls and their retries, then closes. */
  override async close(): Promise<void> {
    await this.#calls?.idle();
    await super.close();
  }
}
