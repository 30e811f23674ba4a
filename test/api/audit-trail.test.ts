import { beforeAll, expect, test } from 'vitest';
import { routes } from '../../src/api/routes/index.js';
import { type AccessStage, createAccessStage } from '../support/access-stage.js';
import { performWrite } from '../support/perform-write.js';
import { someAddress } from '../support/sessions.js';
import { UNTOLD, WRITES } from '../support/writes.js';

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

test.each(writing.filter(([name]) => !(name in UNTOLD)))(
  '%s says in the audit who did it, to what, and from where',
  async (name, route) => {
    const address = someAddress();
    const write = (await WRITES[name]?.(stage)) ?? {};
    const response = await performWrite(stage, { route, write, headers: { 'x-forwarded-for': address } });
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
