import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretPost,
  Configuration,
  customFetch,
  None,
  type TokenEndpointResponse,
} from 'openid-client';
import type { Deps } from '../../deps.js';
import type { NetAnswer, NetFault, NetFaultKind } from '../../platform/net/index.js';
import { isRecord, type JsonObject } from '../../shared/json.js';

const DIALECTS: Readonly<Record<string, Dialect>> = {
  'api.notion.com': { auth: 'basic', json: true, noPkce: true },
  'zoom.us': { auth: 'basic' },
  'auth.atlassian.com': { auth: 'post', json: true },
  // The user's token is nested; the app's is at the top level, and missing when only the user was asked.
  'slack.com': {
    auth: 'post',
    lift: (body) =>
      typeof body.access_token !== 'string' && isRecord(body.authed_user)
        ? { ...body, ...(body.authed_user as JsonObject) }
        : body,
  },
};

export class GrantFault extends Error {
  override readonly name = 'GrantFault';

  constructor(
    readonly kind: GrantFaultKind,
    message: string,
    /** True when the provider may have used up the refresh token although its answer is unknown. */
    readonly inDoubt = false,
  ) {
    super(message);
  }
}

/** Error codes by which providers say that a refresh token is invalid. */
const GONE = new Set([
  'invalid_grant',
  'bad_refresh_token',
  'BAD_REFRESH_TOKEN',
  'invalid_refresh_token',
  'token_revoked',
  'token_expired',
]);

/** Faults that a retry cannot fix: a person must correct a URL or allow a host. */
const LASTING: ReadonlySet<NetFaultKind> = new Set(['bad-url', 'bad-request', 'denied', 'tls']);

const MAX_MESSAGE = 300;

interface TokenEndpoint {
  readonly tokenUrl: string;
  /** The `iss` that the provider names itself by, when it is known. */
  readonly issuer?: string;
  readonly clientId: string;
  /** Empty for a client without one. */
  readonly clientSecret: string;
  /** Overrides the provider's known method. */
  readonly auth?: ClientAuthMethod;
}

/** The outcome of one request, recorded beside the library, whose errors say less than the answer. */
interface Seen {
  fault: NetFault | null;
  answer: TokenAnswer | null;
}

type Ask = (config: Configuration) => Promise<TokenEndpointResponse>;

const TIMEOUT_MS = 15_000;

const MAX_BYTES = 256 * 1_024;

const AUTHS = {
  post: (secret) => ClientSecretPost(secret),
  basic,
  none: () => None(),
} as const satisfies Record<ClientAuthMethod, (secret: string) => ClientAuth>;

/**
 * RFC 6749, 2.3.1, with the form encoding of browsers. The library's own also encodes hyphens and dots, so servers that
 * do not decode would see another client.
 */
function basic(secret: string): ClientAuth {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return (_server, { client_id }, _body, headers) => {
    const pair = `${encode(client_id)}:${encode(secret)}`;
    headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`);
  };
}

/**
 * Calls a token endpoint through the guarded client. When its client authentication is unknown, it tries the body and
 * then Basic (RFC 6749, 2.3.1), since a refused client does not use up its grant. Throws GrantFault.
 */
export async function askTokenEndpoint(net: Deps['net'], endpoint: TokenEndpoint, ask: Ask): Promise<Grant> {
  const dialect = dialectOf(endpoint.tokenUrl);
  const known = endpoint.clientSecret === '' ? 'none' : (endpoint.auth ?? dialect.auth);
  const methods = known === undefined ? (['post', 'basic'] as const) : [known];
  for (const [index, method] of methods.entries()) {
    const seen: Seen = { fault: null, answer: null };
    const auth = AUTHS[method](endpoint.clientSecret);
    const grant = await grantBy(configure(net, endpoint, { auth, dialect, seen }), ask, seen);
    if (grant) return grant;
    const isClient = seen.answer?.body.error === 'invalid_client';
    if (!isClient || index === methods.length - 1) throw faultOf(endpoint, seen);
  }
  throw faultOf(endpoint, { fault: null, answer: null });
}

/** As `askTokenEndpoint`, for a grant that needs no client. */
export async function askWithoutClient(net: Deps['net'], tokenUrl: string, ask: Ask): Promise<Grant> {
  const endpoint = { tokenUrl, clientId: 'none', clientSecret: '' };
  const seen: Seen = { fault: null, answer: null };
  const config = configure(net, endpoint, { auth: () => undefined, dialect: {}, seen });
  const grant = await grantBy(config, ask, seen);
  if (grant) return grant;
  throw faultOf(endpoint, seen);
}

async function grantBy(config: Configuration, ask: Ask, seen: Seen): Promise<Grant | null> {
  try {
    const { access_token, expires_in, refresh_token } = await ask(config);
    return {
      accessToken: access_token,
      expiresInSeconds: expires_in ?? null,
      refreshToken: refresh_token ?? null,
    };
  } catch (error) {
    // Without a request the fault is ours or the browser's, not the endpoint's.
    if (seen.fault === null && seen.answer === null) throw error;
    return null;
  }
}

function configure(
  net: Deps['net'],
  { tokenUrl, issuer = new URL(tokenUrl).origin, clientId }: TokenEndpoint,
  { auth, dialect, seen }: { auth: ClientAuth; dialect: Dialect; seen: Seen },
): Configuration {
  const config = new Configuration({ issuer, token_endpoint: tokenUrl }, clientId, {}, auth);
  // The guarded client decides where plain http may go.
  allowInsecureRequests(config);
  config[customFetch] = async (url, { method, headers, body }) => {
    const form = new URLSearchParams(body instanceof URLSearchParams ? body : String(body ?? ''));
    if (dialect.noPkce) form.delete('code_verifier');
    const result = await net.request({
      url,
      method,
      headers: dialect.json ? { ...headers, 'content-type': 'application/json' } : headers,
      body: dialect.json ? JSON.stringify(Object.fromEntries(form)) : form.toString(),
      httpsOnly: true,
      redirects: 0,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    });
    if (result.kind === 'fault') {
      seen.fault = result;
      throw new Error(result.message);
    }
    seen.answer = readAnswer(result, dialect) ?? { status: result.status, body: {} };
    return Response.json(seen.answer.body, { status: seen.answer.status });
  };
  return config;
}

function faultOf({ tokenUrl }: TokenEndpoint, { fault, answer }: Seen): GrantFault {
  if (fault) return faultOfNet(fault);
  return faultOfAnswer(hostText(tokenUrl), answer ?? { status: 0, body: {} });
}

type ClientAuthMethod = 'post' | 'basic' | 'none';

/** How a provider's token endpoint differs from RFC 6749. */
interface Dialect {
  /** The only way in which it accepts the client's secret; without it the body is tried, then Basic. */
  readonly auth?: ClientAuthMethod;
  /** The request's body is JSON instead of a form. */
  readonly json?: true;
  /** It refuses parameters that it does not know, the verifier of PKCE among them: then no challenge is sent either. */
  readonly noPkce?: true;
  /** Where in its answer the token is. */
  readonly lift?: (body: JsonObject) => JsonObject;
}

export function dialectOf(tokenUrl: string): Dialect {
  return DIALECTS[new URL(tokenUrl).hostname] ?? {};
}

/** A token endpoint's answer with the field names of RFC 6749, whatever names the provider uses. */
interface TokenAnswer {
  readonly status: number;
  readonly body: JsonObject;
}

/** Null when the answer is not a JSON object, such as an HTML page. */
function readAnswer(answer: NetAnswer, { lift = (body) => body }: Dialect): TokenAnswer | null {
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

/** Some still answer with a form, as in the drafts of OAuth 2. */
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

/** The tokens that a token endpoint returned. */
export interface Grant {
  readonly accessToken: string;
  /** Null when the endpoint does not send it. */
  readonly expiresInSeconds: number | null;
  /** Null when it gave none: then the current one stays valid. */
  readonly refreshToken: string | null;
}

/**
 * Why there is no token. `gone`: the grant itself is refused, and a person must reconnect. `refused`: the request is
 * wrong, such as the client's secret. `outage`: a retry may succeed.
 */
export type GrantFaultKind = 'gone' | 'refused' | 'outage';

function hostText(url: string): string {
  return new URL(url).host;
}

function faultOfNet({ fault, message, sent }: NetFault): GrantFault {
  return new GrantFault(LASTING.has(fault) ? 'refused' : 'outage', message, sent);
}

function faultOfAnswer(host: string, { status, body }: TokenAnswer): GrantFault {
  const error = typeof body.error === 'string' ? body.error : null;
  const reason = [error, body.error_description ?? body.message]
    .filter((part) => typeof part === 'string')
    .map((part) => plainText(part))
    .join(': ');
  if (error !== null && GONE.has(error))
    return new GrantFault('gone', `${host} no longer accepts the connection (${reason})`);
  if (status === 429 || status >= 500)
    return new GrantFault('outage', `${host} answers ${status}${reason && ` (${reason})`}`, status >= 500);
  if (error !== null) return new GrantFault('refused', `${host} refuses to give a token (${reason})`);
  return new GrantFault('refused', `${host} answers ${status} and no token: check the token endpoint's address`);
}

/** A provider's text as one short line. */
export function plainText(text: string): string {
  return text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_MESSAGE);
}
