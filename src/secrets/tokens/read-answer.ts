import type { NetAnswer } from '../../platform/net/index.js';
import { isRecord, type JsonObject } from '../../shared/json.js';
import type { Dialect } from './dialects.js';

/** A token endpoint's answer with the field names of RFC 6749, whatever names the provider uses. */
export interface TokenAnswer {
  readonly status: number;
  readonly body: JsonObject;
}

/** Null when the answer is not a JSON object, such as an HTML page. */
export function readAnswer(answer: NetAnswer, { lift = (body) => body }: Dialect): TokenAnswer | null {
  const text = Buffer.from(answer.body).toString('utf8');
  const parsed = parseJson(text) ?? parseForm(text, answer.headers.get('content-type'));
  if (parsed === null) return null;
  const body = lift(parsed);
  const error = errorOf(body, answer.status);
  if (error !== null) return { status: Math.max(answer.status, 400), body: { ...body, error } };
  return { status: answer.status, body: standard(body) };
}

function parseJson(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? (value as JsonObject) : null;
  } catch {
    return null;
  }
}

/** Some still answer as the drafts of OAuth2 did. */
function parseForm(text: string, type: string | null): JsonObject | null {
  return type?.startsWith('application/x-www-form-urlencoded') ? Object.fromEntries(new URLSearchParams(text)) : null;
}

/** Errors do not depend on the HTTP status: GitHub and Slack send them with 200, HubSpot in a field `status`. */
function errorOf(body: JsonObject, status: number): string | null {
  if (typeof body.error === 'string' && body.error !== '') return body.error;
  if (status < 400 && body.ok !== false) return null;
  return typeof body.status === 'string' && body.status !== '' ? body.status : null;
}

/** Every token is used as a bearer token, whatever type the provider names; identity claims are not read. */
function standard({ id_token: _identity, ...body }: JsonObject): JsonObject {
  const { expires_in: expiresIn, refresh_token: refreshToken, scope: _scope, ...rest } = body;
  const seconds = Number(expiresIn);
  return {
    ...rest,
    token_type: 'bearer',
    ...(expiresIn !== null && expiresIn !== undefined && seconds > 0 && { expires_in: seconds }),
    ...(typeof refreshToken === 'string' && refreshToken !== '' && { refresh_token: refreshToken }),
  };
}
