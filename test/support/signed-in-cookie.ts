import type { Deps } from '../../src/deps.js';
import { startSession } from '../../src/people/accounts/log-in.js';
import type { TestApp, TestRequest } from './create-test-app.js';
import type { Person } from './sessions.js';

/** The cookie of a new session of a member, without a password and its cost. */
export async function signedInCookie(deps: Pick<Deps, 'db'>, tenant: string, person: Person): Promise<string> {
  const browser = { address: null, device: null, replaces: null };
  const token = await deps.db.transaction((sql) => startSession(sql, { ...person, tenant }, browser));
  return `service_session=${token}`;
}

/** A request as the dashboard makes it for a signed-in member. */
export async function asPerson(
  { deps, tenant }: Pick<TestApp, 'deps' | 'tenant'>,
  person: Person,
): Promise<TestRequest> {
  const cookie = await signedInCookie(deps, tenant, person);
  return { as: null, headers: { cookie, 'sec-fetch-site': 'same-origin' } };
}
