import { hashPassword } from '../../src/people/accounts/passwords.js';
import { newId } from '../../src/shared/ids.js';
import type { TestApp, TestRequest } from './create-test-app.js';

export const PASSWORD = 'correct horse battery';
let hashed: Promise<string> | undefined;

let addresses = 0;

/** An IPv4 address that no other test counts attempts for. */
export function someAddress(): string {
  addresses += 1;
  const number = (Number(process.env.VITEST_WORKER_ID) << 14) | addresses;
  return [10, (number >> 16) & 255, (number >> 8) & 255, number & 255].join('.');
}

export interface Person {
  readonly id: string;
  readonly email: string;
}

/** A member with that role and PASSWORD; `owner` gives the account's owner the password. */
export async function createPerson(
  { deps, tenant, owner }: TestApp,
  role: 'viewer' | 'editor' | 'admin' | 'owner' = 'editor',
): Promise<Person> {
  hashed ??= hashPassword(PASSWORD);
  const hash = await hashed;
  if (role === 'owner') {
    await deps.db.query('UPDATE member SET password_hash = $2 WHERE id = $1', [owner.id, hash]);
    return owner;
  }
  const person = { id: newId(), email: `${role}-${newId()}@${tenant}.test` };
  await deps.db.query(
    `INSERT INTO member (id, tenant_id, email, role, password_hash, workspaces) VALUES ($1, $2, $3, $4, $5, '{}')`,
    [person.id, tenant, person.email, role, hash],
  );
  return person;
}

export function logIn(app: TestApp, email: string, init: TestRequest & { readonly password?: string } = {}) {
  const { password = PASSWORD, ...rest } = init;
  return app.post('/api/auth/login', { email, password }, { as: null, ...rest });
}

export interface SignedIn {
  readonly cookie: string;
  /** A call as the dashboard makes it: with the cookie, and from our own origin. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
}

/** The value of the session's cookie that an answer sets; undefined when it sets none. */
export function cookieOf(response: Response): string | undefined {
  return /^(service_session=[^;]+)/.exec(response.headers.get('set-cookie') ?? '')?.[1];
}

export async function signIn(app: TestApp, { email }: Person, init: TestRequest = {}): Promise<SignedIn> {
  const response = await logIn(app, email, init);
  const cookie = cookieOf(response);
  if (cookie === undefined) throw new Error(`${response.status} ${await response.text()}`);
  return {
    cookie,
    call: (method, path, body, headers = {}) =>
      app.request(path, {
        as: null,
        method,
        headers: {
          cookie,
          'sec-fetch-site': 'same-origin',
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
  };
}
