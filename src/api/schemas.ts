import type { RouteConfig } from '@hono/zod-openapi';
import type { ZodType } from 'zod';
import { ErrorBody } from '../contract/common.js';
import type { Access } from './env.js';

export { Page, WorkspaceParams } from '../contract/common.js';

/** A JSON body. `required` makes the validators check it even when the caller sent nothing at all. */
export function jsonBody<S extends ZodType>(schema: S) {
  return { required: true as const, content: { 'application/json': { schema } } };
}

export function okResponse<S extends ZodType>(schema: S, description = 'Done') {
  return { 200: jsonResponse(schema, description) };
}

export function createdResponse<S extends ZodType>(schema: S, description = 'Created') {
  return { 201: jsonResponse(schema, description) };
}

/** For what goes on after the answer: a run that was started. */
export function acceptedResponse<S extends ZodType>(schema: S, description = 'Started') {
  return { 202: jsonResponse(schema, description) };
}

export function jsonResponse<S extends ZodType>(schema: S, description: string) {
  return { description, content: { 'application/json': { schema } } };
}

/** A body that is no JSON: bytes, an event stream, a page. */
export function rawResponse<T extends string>(type: T, description: string) {
  return {
    description,
    content: { [type]: { schema: { type: 'string' as const } } } as Record<T, { schema: { type: 'string' } }>,
  };
}

/** For a route that counts attempts. */
export const limitedResponse = { 429: jsonResponse(ErrorBody, 'Too many attempts; see `Retry-After`') };

/** For a route without a credential that checks one in its body. */
export const badCredentials = { 401: jsonResponse(ErrorBody, 'The address or the password is wrong') };

/** For a route that starts a run. */
export const spentResponse = {
  402: jsonResponse(ErrorBody, 'The budget of the month is spent: `budget/month`, with its figures'),
};

/** What the funnel may answer by itself, for the documentation: no route has to repeat it. */
export function errorResponses(access: Access, route: RouteConfig): RouteConfig['responses'] {
  const guarded = access !== 'open' && access !== 'token';
  const hasInput = route.request !== undefined;
  const rows: readonly [boolean, number, string][] = [
    [hasInput && route.request?.body !== undefined, 400, 'The body is not JSON'],
    [guarded, 401, 'No credential, or one that is not valid'],
    [guarded, 403, 'The role is too low; `need` says which it takes'],
    [route.path.includes('{'), 404, 'There is no such thing, or it is not yours'],
    [route.method !== 'get', 409, 'In conflict with how things stand'],
    [hasInput, 422, 'Refused; `issues` says what is wrong, each with its path'],
    [true, 503, 'A part of the service does not answer; see `Retry-After`'],
  ];
  return Object.fromEntries(
    rows.flatMap(([applies, status, description]) => (applies ? [[status, jsonResponse(ErrorBody, description)]] : [])),
  );
}
