import type { OpenAPIHono, RouteConfig, RouteConfigToTypedResponse, RouteHandler } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler, TypedResponse } from 'hono';
import type { JSONValue } from 'hono/utils/types';
import { withClosedQuery } from './closed-query.js';
import { describeAnswers, type SentHeader } from './described-answers.js';
import type { Access, AppEnv, EnvOf, GuardedEnv } from './env.js';
import { createGuard, inOrder, type Needs, type Refused } from './guard.js';
import { refuseIdempotencyKey, withIdempotency } from './idempotency.js';
import { operationIdOf } from './operation-id.js';
import { readBody } from './read-body.js';
import { type RequestHeader, requestHeaders } from './request-headers.js';
import { refuseFaults } from './validate.js';

/** Any JSON is left alone: it is a type without an end. */
type DeepReadonly<T> = [JSONValue] extends [T]
  ? unknown
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;
type Answer<T> =
  T extends TypedResponse<infer Body, infer Status, infer Format>
    ? TypedResponse<DeepReadonly<Body>, Status, Format>
    : T;

/** As `RouteHandler`, but an answer may be made of readonly parts, as those of our verbs are. */
type Handle<R extends RouteConfig, E extends EnvOf<Access>> =
  RouteHandler<R, E> extends (c: infer C, next: infer _Next) => infer Returned
    ? (c: C) => Promise<Answer<RouteConfigToTypedResponse<R>> | (Response extends Returned ? Response : never)>
    : never;

export interface RouteDefinition<R extends RouteConfig, A extends Access> {
  readonly access: A;
  readonly route: R;
  readonly handle: Handle<R, EnvOf<A>>;
  /**
   * For a POST that starts or creates: the header `Idempotency-Key` is honoured. `settled` is a verb that calls
   * `c.var.once` in its transaction: when its process has died the same call under the same key may take over. `natural`
   * is a POST that twice does what it does once, so the header changes nothing. Any other POST with a credential or
   * without one refuses the header; one whose address carries a token has its own way to know a repeat.
   */
  readonly idempotent?: true | 'settled' | 'natural';
  /** Headers of HTTP that the handler reads, for the description. */
  readonly reads?: readonly RequestHeader[];
  /** Headers that its answers carry beside those of all answers, for the description. */
  readonly sends?: readonly SentHeader[];
  /** 1 MiB, and 64 KiB where no credential is needed, unless it says otherwise; `stream` leaves the body, whatever its size, to the handler. */
  readonly maxBodyBytes?: number | 'stream';
  /** The body itself is signed: its sender is known only when all of it has been taken. */
  readonly provenByBody?: true;
  /**
   * A page as well, for whom `Accept` prefers HTML: who is not signed in is sent to sign in, a refusal is a page, and its
   * form carries a nonce, which the handler checks.
   */
  readonly page?: true;
  /** Its refusals are plain text as well, for the description. */
  readonly text?: true;
  /**
   * Throws what the verb would throw for a missing object. Asked only before the request is refused for its role or its
   * shape, since a missing thing comes first; for a route that carries its own proof, what it would throw for a wrong one. A route with `{ws}` in its path looks for the workspace without being told.
   */
  readonly find?: (c: Context<GuardedEnv>) => Promise<unknown>;
  /** Where some requests need more than the route's role: asked once a role is too low, so that the refusal names the right one. */
  readonly needs?: Needs;
  /** Takes note of a request that is refused for its caller's role. */
  readonly refused?: Refused;
}

/** One row of the route table: what tests walk, and what the app is made of. */
export interface Route {
  readonly access: Access;
  readonly method: string;
  /** As OpenAPI writes it: `/api/workspaces/{ws}`. */
  readonly path: string;
  readonly idempotent: boolean;
  /** What it does with `Idempotency-Key`. */
  readonly onKey: 'honour' | 'ignore' | 'refuse';
  /** Its answer is written with its effect. */
  readonly settled: boolean;
  readonly register: (app: OpenAPIHono<AppEnv>) => void;
}

const DEFAULT_BODY_BYTES = 1024 * 1024;
/** Anybody may send it, and nothing that is sent there is long. */
const OPEN_BODY_BYTES = 64 * 1024;

/** A route with its access, its schemas and its handler. What may be refused before the handler is refused here. */
export function defineRoute<R extends RouteConfig, const A extends Access>(definition: RouteDefinition<R, A>): Route {
  const { access, provenByBody = false, page = false, text = false } = definition;
  const { maxBodyBytes = access === 'open' ? OPEN_BODY_BYTES : DEFAULT_BODY_BYTES } = definition;
  const route = withClosedQuery(definition.access, definition.route);
  const find = definition.find ?? null;
  const onKey = onKeyOf({ access, method: route.method, idempotent: definition.idempotent });
  const isHonoured = onKey === 'honour';
  const isSettled = definition.idempotent === 'settled';
  const handle = inOrder(definition.handle as unknown as (c: Context<AppEnv>) => Promise<Response>);
  const declared = {
    ...route,
    operationId: route.operationId ?? operationIdOf(route.method, route.path),
    parameters: requestHeaders([...(isHonoured ? (['Idempotency-Key'] as const) : []), ...(definition.reads ?? [])]),
    security: securityOf(access),
    responses: describeAnswers(route, {
      access,
      idempotent: isHonoured,
      page,
      text,
      readsBody: route.request?.body !== undefined,
      reads: definition.reads ?? [],
      sends: definition.sends ?? [],
    }),
    middleware: [
      createGuard({ access, find, page, needs: definition.needs ?? null, refused: definition.refused ?? null }),
      ...(maxBodyBytes === 'stream' ? [] : [readBody(route, { access, maxBytes: maxBodyBytes, provenByBody })]),
    ] as MiddlewareHandler[],
  };
  return {
    access,
    method: route.method,
    path: route.path,
    idempotent: isHonoured,
    onKey,
    settled: isSettled,
    register: (app) => {
      app.openapi(
        declared as RouteConfig,
        (isHonoured
          ? withIdempotency(handle, isSettled)
          : onKey === 'refuse'
            ? refuseIdempotencyKey(handle)
            : handle) as never,
        refuseFaults(route) as never,
      );
    },
  };
}

interface KeyRule {
  readonly access: Access;
  readonly method: string;
  readonly idempotent: RouteDefinition<RouteConfig, Access>['idempotent'];
}

function onKeyOf({ access, method, idempotent }: KeyRule): Route['onKey'] {
  if (idempotent === true || idempotent === 'settled') return 'honour';
  const isRepeatable = method !== 'post' || idempotent === 'natural' || access === 'token';
  return isRepeatable ? 'ignore' : 'refuse';
}

/** What OpenAPI is told: a key or a session; where a person must have signed in, the session alone. */
function securityOf(access: Access): Record<string, string[]>[] {
  if (access === 'open' || access === 'token') return [];
  const session = { session: [] };
  return typeof access === 'object' && access.person ? [session] : [{ bearer: [] }, session];
}
