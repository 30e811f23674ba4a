import type { Context } from 'hono';
import type { StatusCode } from 'hono/utils/http-status';
import type { AppEnv } from './env.js';

/** As web servers log a request whose client closed the connection; the answer itself reaches no client. */
export const CLIENT_LEFT = 499 as StatusCode;

/** The client closed the connection before it had its answer. */
export class ClientLeft extends Error {
  override readonly name = 'ClientLeft';

  constructor() {
    super('the client has left');
  }
}

export function hasClientLeft({ env }: Context<AppEnv>): boolean {
  const { incoming, outgoing } = env ?? {};
  if (!incoming) return false;
  const isCut = incoming.destroyed && !incoming.complete;
  const isClosed = outgoing?.destroyed === true && !outgoing.writableFinished;
  return isCut || isClosed || incoming.socket.destroyed === true;
}

/**
 * Aborted when the client leaves, with an error as its reason. The reason of the request's own signal is a text, which
 * no error handler takes once it is thrown.
 */
export function clientSignal({ req }: { readonly req: { readonly raw: Request } }): AbortSignal {
  const { signal } = req.raw;
  const left = new AbortController();
  const leave = () => left.abort(new ClientLeft());
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave, { once: true });
  return left.signal;
}

/** Whether the error says that work was stopped, and nothing that failed by itself. */
export function isStopped(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error instanceof ClientLeft || error.name === 'AbortError' || isStopped(error.cause);
}
