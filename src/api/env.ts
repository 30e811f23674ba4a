import type { HttpBindings } from '@hono/node-server';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Deps } from '../deps.js';
import type { RecordAnswer } from '../people/index.js';
import type { Log } from '../shared/log.js';
import type { Caller, Role } from '../shared/roles.js';

/**
 * Who may call a route. A role is the minimum role; `person` also requires a signed-in person. `open` needs no
 * credential, `token` means that the verb checks a token of its own, and `metrics` accepts the metrics token or a
 * session.
 */
export type Access = { readonly role: Role; readonly person?: true } | 'open' | 'metrics' | 'token';

interface EveryRequest {
  /** The app itself, from which the description is generated. */
  app: OpenAPIHono<AppEnv>;
  deps: Deps;
  requestId: string;
  log: Log;
  /** The session's token, when the response must renew its cookie. */
  renewedToken?: string;
  /** True when a browser shows the response, so a refusal is a page. */
  page?: true;
  /** With an Idempotency-Key: saves the body under this status, in the verb's transaction. */
  recordAnswer?: (status: ContentfulStatusCode) => RecordAnswer;
}

/** The variables of a request. Only a route with a role has a caller. */
export interface OpenEnv {
  Bindings: Partial<HttpBindings>;
  Variables: EveryRequest;
}
export interface GuardedEnv {
  Bindings: Partial<HttpBindings>;
  Variables: EveryRequest & { caller: Caller };
}
/** The app's own view: the caller is set after the guard. */
export interface AppEnv {
  Bindings: Partial<HttpBindings>;
  Variables: EveryRequest & { caller?: Caller };
}

export type EnvOf<A extends Access> = A extends { role: Role } ? GuardedEnv : OpenEnv;
