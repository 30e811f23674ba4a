import { type ZodType, z } from 'zod';
import { ErrorBody } from '../contract/common.js';
import { RefusedDeployBody } from '../contract/deploys.js';

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

/** For work that continues after the response, such as a started run. */
export function acceptedResponse<S extends ZodType>(schema: S, description = 'Started') {
  return { 202: jsonResponse(schema, description) };
}

export function jsonResponse<S extends ZodType>(schema: S, description: string) {
  return { description, content: { 'application/json': { schema } } };
}

/** A body that is not JSON: bytes, an event stream, a page. */
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

/** For a route that checks a whole tree before any of it goes live. */
export const refusedTreeResponse = {
  422: jsonResponse(z.union([RefusedDeployBody, ErrorBody]), 'The tree has errors, and nothing of it was applied'),
};
