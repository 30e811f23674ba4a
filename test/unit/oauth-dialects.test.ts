import { authorizationCodeGrant, refreshTokenGrant } from 'openid-client';
import { expect, test } from 'vitest';
import type { Net, NetRequest } from '../../src/platform/net/index.js';
import { askTokenEndpoint, dialectOf } from '../../src/secrets/index.js';
import { PROVIDERS } from '../../src/secrets/oauth/providers.js';

/** A net that answers once, and what it was asked. */
function netOf(body: unknown, type = 'application/json', status = 200) {
  const asked: NetRequest[] = [];
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const net: Net = {
    check: () => null,
    connect: () => Promise.reject(new Error('nothing is connected to')),
    open: () => Promise.reject(new Error('nothing is streamed')),
    resolve: () => Promise.reject(new Error('nothing is resolved')),
    async request(request) {
      asked.push(request);
      if (asked.length > 1) throw new Error('asked more than once');
      return { kind: 'answer', status, headers: new Headers({ 'content-type': type }), body: bytes, url: request.url };
    },
  };
  return { net, asked };
}

const endpoint = (tokenUrl: string) => ({ tokenUrl, clientId: 'the-id', clientSecret: 'the-secret' });
const BASIC = `Basic ${Buffer.from('the-id:the-secret').toString('base64')}`;
const bearer = { access_token: 'access-1', token_type: 'bearer', refresh_token: 'refresh-2', expires_in: 60 };

test('Notion is asked in JSON and by Basic, and hears nothing of PKCE', async () => {
  const { net, asked } = netOf(bearer);
  const { tokenUrl } = PROVIDERS.notion ?? { tokenUrl: '' };
  const back = new URL('https://box.example/api/oauth/callback?code=c&state=s');
  const checks = { pkceCodeVerifier: 'v'.repeat(43), expectedState: 's' };
  await askTokenEndpoint(net, endpoint(tokenUrl), (config) => authorizationCodeGrant(config, back, checks));
  expect(asked[0]?.headers).toMatchObject({ authorization: BASIC, 'content-type': 'application/json' });
  expect(JSON.parse(String(asked[0]?.body))).toEqual({
    grant_type: 'authorization_code',
    code: 'c',
    redirect_uri: 'https://box.example/api/oauth/callback',
  });
  expect(dialectOf(tokenUrl).noPkce).toBe(true);
});

test('Slack’s token of a person is taken where that of the app is missing', async () => {
  const slack = PROVIDERS.slack?.tokenUrl ?? '';
  const person = { ok: true, authed_user: { id: 'U1', access_token: 'xoxp-1', token_type: 'user' } };
  const refresh = (net: Net) => askTokenEndpoint(net, endpoint(slack), (config) => refreshTokenGrant(config, 'r'));
  expect(await refresh(netOf(person).net)).toMatchObject({ accessToken: 'xoxp-1', refreshToken: null });
  const app = { ...person, access_token: 'xoxb-1', token_type: 'bot', expires_in: 43_200, refresh_token: 'xoxe-1' };
  expect(await refresh(netOf(app).net)).toEqual({
    accessToken: 'xoxb-1',
    refreshToken: 'xoxe-1',
    expiresInSeconds: 43_200,
  });
});

test('an answer that is a form, as the drafts of OAuth2 had it, is read', async () => {
  const { net } = netOf(
    'access_token=a%2Bb&expires_in=60&scope=repo',
    'application/x-www-form-urlencoded; charset=utf-8',
  );
  const grant = await askTokenEndpoint(net, endpoint('https://id.example/t'), (config) =>
    refreshTokenGrant(config, 'r'),
  );
  expect(grant).toEqual({ accessToken: 'a+b', expiresInSeconds: 60, refreshToken: null });
});

test('every token request goes over https alone, follows no redirect, and has limits', async () => {
  const { net, asked } = netOf(bearer);
  await askTokenEndpoint(net, endpoint('https://id.example/t'), (config) => refreshTokenGrant(config, 'r'));
  expect(asked[0]).toMatchObject({ httpsOnly: true, redirects: 0, timeoutMs: 15_000, maxBytes: 262_144 });
  expect(Object.fromEntries(new URLSearchParams(String(asked[0]?.body)))).toEqual({
    grant_type: 'refresh_token',
    refresh_token: 'r',
    client_id: 'the-id',
    client_secret: 'the-secret',
  });
});

test.each(Object.entries(PROVIDERS))(
  'the shape of %s has addresses that may be asked',
  (_name, { authorizeUrl, tokenUrl, issuer }) => {
    for (const url of [authorizeUrl, tokenUrl, issuer ?? 'https://none.example']) {
      const { protocol, search, hash } = new URL(url);
      expect([protocol, search, hash]).toEqual(['https:', '', '']);
    }
  },
);

test('a client without a secret sends its id alone', async () => {
  const { net, asked } = netOf(bearer);
  const open = { ...endpoint('https://id.example/t'), clientSecret: '' };
  await askTokenEndpoint(net, open, (config) => refreshTokenGrant(config, 'r'));
  expect(asked[0]?.headers).not.toHaveProperty('authorization');
  expect(Object.keys(Object.fromEntries(new URLSearchParams(String(asked[0]?.body)))).sort()).toEqual([
    'client_id',
    'grant_type',
    'refresh_token',
  ]);
});
