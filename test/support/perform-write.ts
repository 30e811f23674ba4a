import type { Route } from '../../src/api/define-route.js';
import { hashPassword } from '../../src/people/accounts/passwords.js';
import type { AccessStage } from './access-stage.js';
import { PASSWORD } from './sessions.js';
import type { Write } from './writes.js';

interface Performed {
  readonly route: Route;
  readonly write: Write;
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends a call that changes something to its route, by the credential that it asks for. */
export async function performWrite(stage: AccessStage, { route, write, headers: more }: Performed): Promise<Response> {
  const credential = write.by === 'session' ? await asOwner(stage) : write.by === 'nobody' ? { as: null } : {};
  const { headers, ...body } = bodyOf(write);
  const path = write.path ?? (await stage.pathOf(route)) + (write.query ?? '');
  return stage.app.request(path, {
    ...credential,
    ...body,
    method: route.method.toUpperCase(),
    headers: {
      ...('headers' in credential && (credential.headers as object)),
      ...(headers as object),
      ...more,
    },
  });
}

/** The owner by a new session, whoever owned the account or had what password before. */
async function asOwner({ app, people, as }: AccessStage) {
  await app.deps.db.query('UPDATE tenant SET owner_id = $2 WHERE id = $1', [app.tenant, people.owner.id]);
  await app.deps.db.query('UPDATE member SET password_hash = $2 WHERE id = $1', [
    people.owner.id,
    await hashPassword(PASSWORD),
  ]);
  return as('owner', 'session');
}

function bodyOf({ json, form, bytes }: Write): RequestInit {
  if (json) return { body: JSON.stringify(json), headers: { 'content-type': 'application/json' } };
  if (form) return { body: new URLSearchParams(form) };
  return bytes ? { body: new Uint8Array(bytes), headers: { 'content-type': 'image/png' } } : {};
}
