import { beforeAll, expect, test } from 'vitest';
import { hashPassword } from '../../src/accounts/passwords.js';
import { routes } from '../../src/api/routes/index.js';
import { type AccessStage, createAccessStage } from '../support/access-stage.js';
import { PASSWORD, someAddress } from '../support/sessions.js';
import { UNTOLD, WRITES, type Write } from '../support/writes.js';

const writing = routes
  .filter(({ method }) => method !== 'get')
  .map((route) => [`${route.method.toUpperCase()} ${route.path}`, route] as const);

let stage: AccessStage;
beforeAll(async () => {
  stage = await createAccessStage({ trustProxy: true, signup: 'open' });
});

test('each route that writes has its row in test/support/writes.ts, and no row is without its route', () => {
  expect([...Object.keys(WRITES), ...Object.keys(UNTOLD)].sort()).toEqual(writing.map(([name]) => name).sort());
});

/** The owner by a new session, whoever owned the account or had what password before. */
async function asOwner() {
  const { app, people } = stage;
  await app.deps.db.query('UPDATE tenant SET owner_id = $2 WHERE id = $1', [app.tenant, people.owner.id]);
  await app.deps.db.query('UPDATE member SET password_hash = $2 WHERE id = $1', [
    people.owner.id,
    await hashPassword(PASSWORD),
  ]);
  return stage.as('owner', 'session');
}

function bodyOf({ json, form, bytes }: Write): RequestInit {
  if (json) return { body: JSON.stringify(json), headers: { 'content-type': 'application/json' } };
  if (form) return { body: new URLSearchParams(form) };
  return bytes ? { body: new Uint8Array(bytes), headers: { 'content-type': 'image/png' } } : {};
}

test.each(writing.filter(([name]) => !(name in UNTOLD)))(
  '%s says in the audit who did it, to what, and from where',
  async (name, route) => {
    const write = (await WRITES[name]?.(stage)) ?? {};
    const address = someAddress();
    const credential = write.by === 'session' ? await asOwner() : write.by === 'nobody' ? { as: null } : {};
    const { headers, ...body } = bodyOf(write);
    const path = write.path ?? (await stage.pathOf(route)) + (write.query ?? '');
    const response = await stage.app.request(path, {
      ...credential,
      ...body,
      method: route.method.toUpperCase(),
      headers: {
        ...('headers' in credential && (credential.headers as object)),
        ...(headers as object),
        'x-forwarded-for': address,
      },
    });
    if (response.status >= 400) throw new Error(`${response.status} ${await response.text()}`);
    const entries = await stage.app.deps.db.query<{ actor: object; action: string; target: string }>(
      'SELECT actor, action, target FROM audit_entry WHERE address = $1',
      [address],
    );
    expect(entries.length).toBeGreaterThan(0);
    for (const entry of entries) {
      expect(entry).toMatchObject({
        actor: {
          kind: expect.stringMatching(/^(person|key|link|event)$/),
          id: expect.stringMatching(/./),
          label: expect.stringMatching(/./),
        },
        action: expect.stringMatching(/^[a-z-]+(\.[a-z-]+)+$/),
        target: expect.stringMatching(/./),
      });
    }
  },
);
