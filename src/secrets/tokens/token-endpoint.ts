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
import type { NetFault } from '../../platform/net/index.js';
import { type ClientAuthMethod, type Dialect, dialectOf } from './dialects.js';
import type { Grant, GrantFault } from './grant.js';
import { faultOfAnswer, faultOfNet, hostText } from './grant-faults.js';
import { readAnswer, type TokenAnswer } from './read-answer.js';

export interface TokenEndpoint {
  readonly tokenUrl: string;
  /** The `iss` that the provider names itself by, when it is known. */
  readonly issuer?: string;
  readonly clientId: string;
  /** Empty for a client without one. */
  readonly clientSecret: string;
  /** Overrides what is known of the provider. */
  readonly auth?: ClientAuthMethod;
}

/** What one request brought, kept beside the library: its errors say less than the answer does. */
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
 * RFC 6749, 2.3.1, with the form encoding of browsers: the library's own also encodes hyphens and points, which those
 * who never decode then take for another client.
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
 * then Basic (RFC 6749, 2.3.1): a refused client has used up nothing. Throws GrantFault.
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
