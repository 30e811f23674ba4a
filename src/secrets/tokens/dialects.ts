import { isRecord, type JsonObject } from '../../shared/json.js';

export type ClientAuthMethod = 'post' | 'basic' | 'none';

/** How a provider's token endpoint differs from RFC 6749. */
export interface Dialect {
  /** The one way in which it takes the client's secret; without it the body is tried, then Basic. */
  readonly auth?: ClientAuthMethod;
  /** The request's body is JSON instead of a form. */
  readonly json?: true;
  /** It refuses parameters that it does not know, the verifier of PKCE among them: then no challenge is sent either. */
  readonly noPkce?: true;
  /** Where in its answer the token is. */
  readonly lift?: (body: JsonObject) => JsonObject;
}

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

export function dialectOf(tokenUrl: string): Dialect {
  return DIALECTS[new URL(tokenUrl).hostname] ?? {};
}
