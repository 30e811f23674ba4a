import { expect, test } from 'vitest';
import { audit } from '../../src/people/index.js';
import { createTenant, createTestApp } from '../support/create-test-app.js';

interface Page {
  readonly entries: readonly { readonly id: string; readonly action: string; readonly target: string }[];
  readonly next: string | null;
}

/** An account with five entries: e1 to e5 in time. */
async function told() {
  const app = await createTestApp();
  const ada = { kind: 'person', id: 'ada-id', label: 'Ada@x.test' } as const;
  const key = { kind: 'key', id: 'key-id', label: 'CI' } as const;
  const write = (actor: typeof ada | typeof key, action: string, target: string, address = '10.0.0.1') =>
    audit(app.deps.db, { tenant: app.tenant, actor, address }, action, target, { n: target });
  await write(ada, 'key.mint', 'e1');
  await write(key, 'run.start', 'e2');
  await write(ada, 'key.revoke', 'e3', '10.0.0.2');
  await write(key, 'keyring.turn', 'e4');
  await write(ada, 'run.start', 'e5');
  const foreign = await createTenant(app.deps);
  await audit(app.deps.db, { tenant: foreign.tenant, actor: ada, address: null }, 'key.mint', 'theirs');
  const ask = async (query = '') => (await (await app.get(`/api/audit${query}`)).json()) as Page;
  const targets = async (query: string) => (await ask(query)).entries.map(({ target }) => target);
  return { app, ask, targets };
}

test('an entry says who did what to what, when and from where', async () => {
  const { ask } = await told();
  const { entries } = await ask('?target=e3');
  expect(entries).toEqual([
    {
      id: expect.stringMatching(/^\d+$/),
      at: expect.stringMatching(/Z$/),
      actor: { kind: 'person', id: 'ada-id', label: 'Ada@x.test' },
      action: 'key.revoke',
      target: 'e3',
      address: '10.0.0.2',
      detail: { n: 'e3' },
    },
  ]);
});

test('the audit is newest first, is of one’s own account, and takes filters together', async () => {
  const { targets } = await told();
  expect(await targets('')).toEqual(['e5', 'e4', 'e3', 'e2', 'e1']);
  expect(await targets('?action=key')).toEqual(['e3', 'e1']);
  expect(await targets('?action=run.start')).toEqual(['e5', 'e2']);
  expect(await targets('?actor=ada@X.test&action=run')).toEqual(['e5']);
  expect(await targets('?actor=key-id')).toEqual(['e4', 'e2']);
  expect(await targets('?until=2020-01-01T00:00:00Z')).toEqual([]);
  expect(await targets('?since=2020-01-01T00:00:00%2B01:00&target=e4')).toEqual(['e4']);
});

test('its pages join without a gap and without a repeat, whatever is written meanwhile', async () => {
  const { app, ask } = await told();
  const seen: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const page: Page = await ask(`?limit=2${cursor && `&cursor=${cursor}`}`);
    seen.push(...page.entries.map(({ target }) => target));
    cursor = page.next;
    const actor = { kind: 'system', id: 's', label: 's' } as const;
    await audit(app.deps.db, { tenant: app.tenant, actor, address: null }, 'later', 'later');
  }
  expect(seen).toEqual(['e5', 'e4', 'e3', 'e2', 'e1']);
});

test('a made-up cursor or time is refused', async () => {
  const { app } = await told();
  for (const query of ['?cursor=x', '?cursor=99999999999999999999', '?since=yesterday', '?limit=0'])
    expect([query, (await app.get(`/api/audit${query}`)).status]).toEqual([query, 422]);
});
