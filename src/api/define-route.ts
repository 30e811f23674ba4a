import type { OpenAPIHono, RouteConfig, RouteConfigToTypedResponse, RouteHandler } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler, TypedResponse } from 'hono';
import type { JSONValue } from 'hono/utils/types';
import { withClosedQuery } from './closed-query.js';
import { describeAnswers, type SentHeader } from './described-answers.js';
import type { Access, AppEnv, EnvOf, GuardedEnv } from './env.js';
import { createGuard, missingFirst, type Needs, type Refused } from './guard.js';
import { refuseIdempotencyKey, withIdempotency } from './idempotency.js';
import { readBody } from './read-body.js';
import { type RequestHeader, requestHeaders } from './request-headers.js';
import { refuseFaults } from './validate.js';

/** JSON stays as it is: the type is recursive. */
type DeepReadonly<T> = [JSONValue] extends [T]
  ? unknown
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;

type Answer<T> =
  T extends TypedResponse<infer Body, infer Status, infer Format>
    ? TypedResponse<DeepReadonly<Body>, Status, Format>
    : T;

/** Like `RouteHandler`, but a response may have readonly parts, as our verbs return them. */
type Handle<R extends RouteConfig, E extends EnvOf<Access>> =
  RouteHandler<R, E> extends (c: infer C, next: infer _Next) => infer Returned
    ? (c: C) => Promise<Answer<RouteConfigToTypedResponse<R>> | (Response extends Returned ? Response : never)>
    : never;

interface RouteDefinition<R extends RouteConfig, A extends Access> {
  readonly access: A;
  readonly route: R;
  readonly handle: Handle<R, EnvOf<A>>;
  /**
   * For a POST that starts or creates something: honours the header `Idempotency-Key`. `settled` is a verb that calls
   * `c.var.recordAnswer` in its transaction, so that the same request may take over when its process has died.
   * `natural` is a POST that is idempotent by itself, so the header changes nothing. Any other POST refuses the header,
   * except one whose address carries a token and that detects repetitions itself.
   */
  readonly idempotent?: true | 'settled' | 'natural';
  /** Each caller has idempotency keys of its own: two who send the same key and body make two requests. */
  readonly keysByCaller?: boolean;
  /** Request headers that the handler reads, for the description. */
  readonly reads?: readonly RequestHeader[];
  /** Response headers besides the common ones, for the description. */
  readonly sends?: readonly SentHeader[];
  /** Default: 1 MiB, and 64 KiB for routes without a credential. `stream` leaves a body of any size to the handler. */
  readonly maxBodyBytes?: number | 'stream';
  /** The body itself is signed, so the sender is known only after all of it was received. */
  readonly provenByBody?: true;
  /**
   * The route is also a page for clients whose `Accept` prefers HTML: people who are not signed in are redirected to
   * sign in, refusals are pages, and the handler checks the nonce of the form.
   */
  readonly page?: true;
  /** Refusals are also plain text, for the description. */
  readonly text?: true;
  /**
   * Throws what the verb would throw for a missing object, or, for a route with a token, for a wrong token. Called only
   * before a refusal for the role or the input, since a missing object takes precedence. A route with `{ws}` in its
   * path finds the workspace by default.
   */
  readonly find?: (c: Context<GuardedEnv>) => Promise<unknown>;
  /**
   * The role of requests that need more than the route's role. Called when a role is too low, so that the refusal names
   * the right one.
   */
  readonly needs?: Needs;
  /** Records a request that is refused for its caller's role. */
  readonly refused?: Refused;
}

/** One row of the route table, which the app and the tests use. */
export interface Route {
  readonly access: Access;
  readonly method: string;
  /** In OpenAPI's form: `/api/workspaces/{ws}`. */
  readonly path: string;
  readonly idempotent: boolean;
  /** How the route treats `Idempotency-Key`. */
  readonly onKey: 'honour' | 'ignore' | 'refuse';
  /** The answer is written in the transaction of the effect. */
  readonly settled: boolean;
  readonly register: (app: OpenAPIHono<AppEnv>) => void;
}

const DEFAULT_BODY_BYTES = 1024 * 1024;

/** Requests without a credential have short bodies only. */
const OPEN_BODY_BYTES = 64 * 1024;

/** A route with its access, its schemas and its handler. Refusals that need no handler happen here. */
export function defineRoute<R extends RouteConfig, const A extends Access>(definition: RouteDefinition<R, A>): Route {
  const { access, provenByBody = false, page = false, text = false } = definition;
  const { maxBodyBytes = access === 'open' ? OPEN_BODY_BYTES : DEFAULT_BODY_BYTES } = definition;
  const route = withClosedQuery(definition.access, definition.route);
  const find = definition.find ?? null;
  const onKey = onKeyOf({ access, method: route.method, idempotent: definition.idempotent });
  const isHonoured = onKey === 'honour';
  const isSettled = definition.idempotent === 'settled';
  const handle = missingFirst(definition.handle as unknown as (c: Context<AppEnv>) => Promise<Response>);
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
        isHonoured
          ? withIdempotency(handle, { settled: isSettled, keysByCaller: definition.keysByCaller ?? false })
          : onKey === 'refuse'
            ? refuseIdempotencyKey(handle)
            : handle,
        refuseFaults(route),
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

/** The security of OpenAPI: a key or a session, or only a session for routes that need a signed-in person. */
function securityOf(access: Access): Record<string, string[]>[] {
  if (access === 'open' || access === 'token') return [];
  const session = { session: [] };
  return typeof access === 'object' && access.person ? [session] : [{ bearer: [] }, session];
}

/**
 * The name of an operation for generated clients, from its method and path: `GET /api/workspaces/{ws}/runs/{id}` is
 * `getWorkspaceRun`. A segment before a parameter names one thing, so it is singular.
 */
function operationIdOf(method: string, path: string): string {
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== 'api');
  const words = segments.flatMap((segment, index) => {
    if (segment.startsWith('{')) return segments[index - 1]?.startsWith('{') ? [segment.slice(1, -1)] : [];
    return [segments[index + 1]?.startsWith('{') ? singular(segment) : segment];
  });
  return method + (words.length === 0 ? ['home'] : words).map(pascal).join('');
}

function singular(word: string): string {
  return word.replace(/ies$/, 'y').replace(/s$/, '');
}

function pascal(text: string): string {
  return text.replace(/(?:^|[^a-zA-Z0-9]+)([a-zA-Z0-9])/g, (_all, letter: string) => letter.toUpperCase());
}
