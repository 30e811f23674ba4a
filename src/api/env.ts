import type { HttpBindings } from '@hono/node-server';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { RecordAnswer } from '../accounts/index.js';
import type { Deps } from '../deps.js';
import type { Log } from '../shared/log.js';
import type { Caller, Role } from '../shared/roles.js';

/**
 * Who may call a route. A role is the least one that may; `person` asks for a signed-in one besides. `open` needs no
 * credential, `token` carries its own proof, which the verb checks, and `metrics` takes the metrics token or a session.
 */
export type Access = { readonly role: Role; readonly person?: true } | 'open' | 'metrics' | 'token';

interface EveryRequest {
  /** The app itself: what describes it is made from it. */
  app: OpenAPIHono<AppEnv>;
  deps: Deps;
  requestId: string;
  log: Log;
  /** The session's token, when the answer must renew its cookie. */
  renewedToken?: string;
  /** True when a person reads the answer in a browser: a refusal is a page too. */
  page?: true;
  /** With an Idempotency-Key: what a verb calls in its transaction with the body that is answered under this status. */
  recordAnswer?: (status: ContentfulStatusCode) => RecordAnswer;
}

/** What a request carries. Only a route that asks for a role has a caller. */
export interface OpenEnv {
  Bindings: Partial<HttpBindings>;
  Variables: EveryRequest;
}
export interface GuardedEnv {
  Bindings: Partial<HttpBindings>;
  Variables: EveryRequest & { caller: Caller };
}
/** The app's own view: the caller is there once the funnel has let the request in. */
export interface AppEnv {
  Bindings: Partial<HttpBindings>;
  Variables: EveryRequest & { caller?: Caller };
}

export type EnvOf<A extends Access> = A extends { role: Role } ? GuardedEnv : OpenEnv;
