import type { Context } from 'hono';
import type { StatusCode } from 'hono/utils/http-status';
import type { AppEnv } from './env.js';

/** The status that web servers log when the client closed the connection; no client receives it. */
export const CLIENT_LEFT = 499 as StatusCode;

/** The client closed the connection before it got a response. */
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
 * Aborted when the client leaves, with an error as the reason. The reason of the request's own signal is a string,
 * which error handlers do not accept.
 */
export function clientSignal({ req }: { readonly req: { readonly raw: Request } }): AbortSignal {
  const { signal } = req.raw;
  const left = new AbortController();
  const leave = () => left.abort(new ClientLeft());
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave, { once: true });
  return left.signal;
}

/** True when the error means that work was stopped and did not fail by itself. */
export function isStopped(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error instanceof ClientLeft || error.name === 'AbortError' || isStopped(error.cause);
}
