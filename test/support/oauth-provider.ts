import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { type CryptoKey, jwtVerify, type KeyObject } from 'jose';
import { startLocalServer } from './local-server.js';

export interface ProviderOptions {
  readonly expiresIn?: number;
  /** False: the refresh token stays as it is. */
  readonly rotates?: boolean;
  /** How it takes the client's secret; the other way is refused as `invalid_client`. */
  readonly auth?: 'post' | 'basic';
  /** Before each answer of the token endpoint. */
  readonly delayMs?: number;
  /** Of a service account's key. */
  readonly publicKey?: CryptoKey | KeyObject;
}

export interface TokenAnswer {
  readonly status: number;
  readonly body: unknown;
}

export type Form = Readonly<Record<string, string>>;

export const CLIENT = { id: 'client-1', secret: 'client-secret-1' };

export interface OAuthProvider {
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  readonly apiUrl: string;
  readonly port: number;
  /** What the token endpoint was asked, in order. */
  readonly asked: readonly Form[];
  /** The refresh token that it takes now. */
  refreshToken(): string;
  isRevoked(): boolean;
  /** Answers the next request, and with `always` all that follow, in place of what it would say. */
  answer(reply: (form: Form) => TokenAnswer | 'hang up' | Promise<TokenAnswer | 'hang up'>, always?: 'always'): void;
  /** Agrees in the person's name: the code that the redirect carries. */
  agree(authorizeUrl: string): { readonly code: string; readonly state: string; readonly redirectUri: string };
}

/**
 * A provider that rotates its refresh token at each use and punishes a second use of an old one as thieves are: by
 * revoking all. Its API takes the tokens that it gave and that did not end.
 */
export async function startOAuthProvider(options: ProviderOptions = {}): Promise<OAuthProvider> {
  const { expiresIn = 3_600, rotates = true, auth = 'post', delayMs = 0, publicKey } = options;
  const asked: Form[] = [];
  const codes = new Map<string, { challenge: string; redirectUri: string }>();
  const live = new Map<string, number>();
  let count = 1;
  let current = 'refresh-token-1';
  let revoked = false;
  let reply: { make: Parameters<OAuthProvider['answer']>[0]; always: boolean } | null = null;

  const give = (): TokenAnswer => {
    count += 1;
    if (rotates) current = `refresh-token-${count}`;
    const token = `access-token-${count}`;
    live.set(token, Date.now() + expiresIn * 1_000);
    const body = { access_token: token, token_type: 'Bearer', expires_in: expiresIn };
    return { status: 200, body: { ...body, ...(rotates && { refresh_token: current }) } };
  };
  const refuse = (error: string, status = 400): TokenAnswer => ({ status, body: { error, error_description: 'no' } });

  const grants: Readonly<Record<string, (form: Form) => TokenAnswer | Promise<TokenAnswer>>> = {
    refresh_token: ({ refresh_token }) => {
      if (refresh_token !== current) revoked = true;
      return revoked ? refuse('invalid_grant') : give();
    },
    authorization_code: ({ code = '', code_verifier = '', redirect_uri }) => {
      const found = codes.get(code);
      codes.delete(code);
      const challenge = createHash('sha256').update(code_verifier).digest('base64url');
      if (found?.challenge !== challenge || found.redirectUri !== redirect_uri) return refuse('invalid_grant');
      const { status, body } = give();
      return { status, body: { ...(body as object), refresh_token: current } };
    },
    'urn:ietf:params:oauth:grant-type:jwt-bearer': async ({ assertion = '' }) => {
      if (!publicKey) return refuse('unsupported_grant_type');
      const audience = `${server.url}/token`;
      const known = await jwtVerify(assertion, publicKey, { audience, requiredClaims: ['iss', 'exp', 'scope'] }).catch(
        () => null,
      );
      return known ? give() : refuse('invalid_grant');
    },
  };

  const server = await startLocalServer(async ({ path, headers, body }, response) => {
    const send = ({ status, body: content }: TokenAnswer) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content));
    if (path === '/api') {
      const ends = live.get(headers.authorization?.replace(/^Bearer /, '') ?? '') ?? 0;
      return void send(ends > Date.now() ? { status: 200, body: { ok: true } } : { status: 401, body: {} });
    }
    const form = Object.fromEntries(new URLSearchParams(body));
    asked.push(form);
    await setTimeout(delayMs);
    if (reply) {
      const { make } = reply;
      if (!reply.always) reply = null;
      const made = await make(form);
      return void (made === 'hang up' ? response.destroy() : send(made));
    }
    if (form.grant_type?.startsWith('urn:') || isClient(auth, form, headers.authorization)) {
      const grant = grants[form.grant_type ?? ''];
      return void send(grant ? await grant(form) : refuse('unsupported_grant_type'));
    }
    send(refuse('invalid_client', 401));
  });
  return {
    authorizeUrl: `${server.url}/authorize`,
    tokenUrl: `${server.url}/token`,
    apiUrl: `${server.url}/api`,
    port: server.port,
    asked,
    refreshToken: () => current,
    isRevoked: () => revoked,
    answer: (make, always) => {
      reply = { make, always: always !== undefined };
    },
    agree(authorizeUrl) {
      const { searchParams } = new URL(authorizeUrl);
      const code = `code-${codes.size + 1}-${Date.now()}`;
      const redirectUri = searchParams.get('redirect_uri') ?? '';
      codes.set(code, { challenge: searchParams.get('code_challenge') ?? '', redirectUri });
      return { code, state: searchParams.get('state') ?? '', redirectUri };
    },
  };
}

function isClient(auth: 'post' | 'basic', form: Form, authorization: string | undefined): boolean {
  if (auth === 'post') return form.client_id === CLIENT.id && form.client_secret === CLIENT.secret;
  const encoded = Buffer.from(`${CLIENT.id}:${CLIENT.secret}`).toString('base64');
  return authorization === `Basic ${encoded}`;
}
