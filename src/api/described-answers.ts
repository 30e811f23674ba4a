import type { RouteConfig } from '@hono/zod-openapi';
import { ErrorBody } from '../contract/common.js';
import type { Access } from './env.js';
import type { RequestHeader } from './request-headers.js';
import { jsonResponse } from './schemas.js';

/** Headers that some operations' responses carry. */
const SENT = {
  ETag: 'Names this content for If-Match and If-None-Match',
  'Set-Cookie': 'The session, or what binds a connection to this browser',
  'Accept-Ranges': 'bytes',
} as const;
export type SentHeader = keyof typeof SENT;

interface Described {
  readonly access: Access;
  readonly idempotent: boolean;
  readonly page: boolean;
  /** Refusals are also plain text. */
  readonly text: boolean;
  readonly readsBody: boolean;
  readonly reads: readonly RequestHeader[];
  readonly sends: readonly SentHeader[];
}

type Responses = RouteConfig['responses'];
type Header = { readonly description: string; readonly schema: { readonly type: 'string' } };

const header = (description: string): Header => ({ description, schema: { type: 'string' } });

const HTML = { 'text/html': { schema: { type: 'string' as const } } };
const TEXT = { 'text/plain': { schema: { type: 'string' as const } } };

/** Headers of every response. */
const ALWAYS = {
  'X-Request-Id': header('Names the request in the log'),
  'Service-Version': header('The version that answers'),
};
const BY_STATUS: Readonly<Record<string, Readonly<Record<string, Header>>>> = {
  206: { 'Content-Range': header('Which bytes of how many') },
  303: { Location: header('The URL that comes next') },
  401: { 'WWW-Authenticate': header('How to authenticate') },
  405: { Allow: header('The methods that are allowed') },
  409: { 'Retry-After': header('Seconds, where a request with the same key is still in progress') },
  415: { 'Accept-Encoding': header('Content codings that are accepted') },
  416: { 'Content-Range': header('How many bytes there are') },
  429: { 'Retry-After': header('Seconds') },
  503: { 'Retry-After': header('Seconds; absent where no time is known') },
};
const SESSION = { 'Set-Cookie': header('A session that is used late in its 30 days gets 30 new ones') };
const REPLAYED = { 'Idempotency-Replayed': header('`true` where this is the first answer to the key again') };

/** The responses of a route with all headers, including those that the guard sends itself. */
export function describeAnswers(route: RouteConfig, described: Described): Responses {
  const responses: Responses = { ...errorResponses(route, described), ...route.responses };
  const rows = Object.entries(responses).map(([status, response]) => {
    const isError = Number(status) >= 400 && status !== '416';
    const sent = isError ? [] : described.sends.map((name) => [name, header(SENT[name])]);
    const headers = {
      ...ALWAYS,
      ...BY_STATUS[status],
      ...(typeof described.access === 'object' && SESSION),
      ...(described.idempotent && REPLAYED),
      ...Object.fromEntries(sent),
    };
    // Browsers get a refusal as a page, and git as text.
    const isRefusal = isError && 'content' in response;
    const content = isRefusal && {
      content: { ...response.content, ...(described.page && HTML), ...(described.text && TEXT) },
    };
    return [status, { ...response, ...content, headers }];
  });
  return Object.fromEntries(rows) as Responses;
}

/** The error responses of the guard, which routes need not repeat. */
function errorResponses(route: RouteConfig, { access, page, readsBody, reads }: Described): Responses {
  const isGuarded = access !== 'open' && access !== 'token';
  const isWrite = route.method !== 'get';
  const rows: readonly [boolean, number, string][] = [
    [readsBody, 400, 'The body is not what its type says: JSON, UTF-8, a form'],
    [isGuarded || access === 'token', 401, 'No credential, or one that is not valid'],
    [
      isGuarded || isWrite || access === 'token',
      403,
      'The role is too low: `need` names the one it takes. Or a page of another origin',
    ],
    [isGuarded || route.request !== undefined, 404, 'It does not exist, or you cannot access it'],
    [isWrite, 408, 'The body did not come in time'],
    [isWrite, 409, 'In conflict with the current state'],
    [reads.includes('If-Match'), 412, 'The content has changed since the ETag that If-Match names'],
    [readsBody || route.request !== undefined, 413, 'The body, or what is asked for, is over its limit'],
    [readsBody, 415, 'A body of a type or coding that is not accepted here'],
    [isWrite || route.request !== undefined, 422, 'Refused; `issues` says what is wrong, each with its path'],
    [true, 500, 'A fault of the service: `requestId` names it in the log'],
    [true, 503, 'A part of the service does not answer, or it has too much to do'],
  ];
  const toSignIn = page && isGuarded && !isWrite ? { 303: { description: 'To the page where a person signs in' } } : {};
  const errors = Object.fromEntries(
    rows.flatMap(([applies, status, description]) => {
      return applies ? [[status, jsonResponse(ErrorBody, description)]] : [];
    }),
  );
  return { ...toSignIn, ...errors };
}
