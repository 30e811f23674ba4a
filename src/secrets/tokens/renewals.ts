import { createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose';
import { genericGrantRequest, refreshTokenGrant } from 'openid-client';
import type { Deps } from '../../deps.js';
import type { ShapeValues } from '../model.js';
import { askTokenEndpoint, askWithoutClient, type Grant, GrantFault } from './token-endpoint.js';

type Tools = Pick<Deps, 'net' | 'clock'>;
export type TokenShape = 'oauth2' | 'service_account';
type Renew<S extends TokenShape> = (tools: Tools, value: ShapeValues[S]) => Promise<Grant>;

/** How each shape comes by a live token. Throws GrantFault. */
export const RENEWALS: { readonly [S in TokenShape]: Renew<S> } = {
  oauth2: ({ net }, { token_url, client_id, client_secret, refresh_token, scope }) => {
    const endpoint = { tokenUrl: token_url, clientId: client_id, clientSecret: client_secret };
    const more = scope === undefined ? {} : { scope };
    return askTokenEndpoint(net, endpoint, (config) => refreshTokenGrant(config, refresh_token, more));
  },
  service_account: async (tools, value) => {
    const assertion = await assertionOf(value, tools.clock.now());
    return askWithoutClient(tools.net, value.token_uri, (config) =>
      genericGrantRequest(config, JWT_BEARER, { assertion }),
    ).catch(neverGone);
  },
};

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const ASSERTION_SECONDS = 3_600;

/** RFC 7523, 2.1, in the form that Google documents for its service accounts. */
function assertionOf(
  { client_email, private_key, token_uri, scopes, subject }: ShapeValues['service_account'],
  nowMs: number,
): Promise<string> {
  const now = Math.floor(nowMs / 1_000);
  return new SignJWT({ scope: scopes.join(' ') })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
    .setIssuer(client_email)
    .setSubject(subject ?? client_email)
    .setAudience(token_uri)
    .setIssuedAt(now)
    .setExpirationTime(now + ASSERTION_SECONDS)
    .sign(createPrivateKey(private_key));
}

/** A retry uses up no token, and a wrong clock gives the same error code, so the next attempt may succeed. */
function neverGone(error: unknown): never {
  if (error instanceof GrantFault && error.kind === 'gone') throw new GrantFault('refused', error.message);
  throw error;
}
