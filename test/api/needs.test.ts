import { beforeAll, expect, test } from 'vitest';
import { makeInvite } from '../../src/people/index.js';
import { newId } from '../../src/shared/ids.js';
import type { Role } from '../../src/shared/roles.js';
import { type AccessStage, createAccessStage } from '../support/access-stage.js';
import { createPerson } from '../support/sessions.js';

let stage: AccessStage;
beforeAll(async () => {
  stage = await createAccessStage();
});

interface Act {
  readonly method: string;
  readonly path: () => Promise<string> | string;
  readonly body?: object;
  /** The least role that may do this very act. */
  readonly need: Role;
}

const member = async (role: 'viewer' | 'admin') => `/api/team/members/${(await createPerson(stage.app, role)).id}`;
const invite = async (role: 'viewer' | 'admin') => {
  const place = { role, allWorkspaces: true, workspaces: [], email: `${newId()}@x.test` };
  const { tenant, owner, deps } = stage.app;
  return `/api/team/invites/${(await makeInvite(deps.db, { tenant, by: owner.id, ...place })).id}`;
};
const ws = (rest = '') => `/api/workspaces/${stage.workspace}${rest}`;
const email = () => `${newId()}@x.test`;

const ACTS: readonly (readonly [string, Act])[] = [
  ['set a description', { method: 'PATCH', path: () => ws(), body: { description: 'x' }, need: 'editor' }],
  ['rename a workspace', { method: 'PATCH', path: () => ws(), body: { name: 'other' }, need: 'admin' }],
  [
    'bring the mirror up to date',
    { method: 'POST', path: () => ws('/repo'), body: { action: 'mirror-now' }, need: 'editor' },
  ],
  ['set a mirror', { method: 'POST', path: () => ws('/repo'), body: { action: 'mirror', url: null }, need: 'admin' }],
  [
    'invite a viewer',
    { method: 'POST', path: () => '/api/team', body: { email: email(), role: 'viewer' }, need: 'admin' },
  ],
  [
    'invite an admin',
    { method: 'POST', path: () => '/api/team', body: { email: email(), role: 'admin' }, need: 'owner' },
  ],
  ['revoke a viewer’s invite', { method: 'DELETE', path: () => invite('viewer'), need: 'admin' }],
  ['revoke an admin’s invite', { method: 'DELETE', path: () => invite('admin'), need: 'owner' }],
  ['make an editor', { method: 'PATCH', path: () => member('viewer'), body: { role: 'editor' }, need: 'admin' }],
  ['make an admin', { method: 'PATCH', path: () => member('viewer'), body: { role: 'admin' }, need: 'owner' }],
  ['unmake an admin', { method: 'PATCH', path: () => member('admin'), body: { role: 'viewer' }, need: 'owner' }],
  ['remove a viewer', { method: 'DELETE', path: () => member('viewer'), need: 'admin' }],
  ['remove an admin', { method: 'DELETE', path: () => member('admin'), need: 'owner' }],
  [
    'mint an admin’s key',
    { method: 'POST', path: () => '/api/keys', body: { label: 'x', role: 'admin' }, need: 'admin' },
  ],
  [
    'set the account’s picture',
    { method: 'PUT', path: () => `/api/avatars/account/${stage.app.tenant}`, need: 'admin' },
  ],
];

test.each(ACTS)('to %s, whoever may not is told the role that this act needs', async (_what, act) => {
  const below = (['viewer', 'editor', 'admin'] as const).slice(
    0,
    ['viewer', 'editor', 'admin', 'owner'].indexOf(act.need),
  );
  for (const role of below) {
    const init = await stage.as(role, 'session');
    const headers = { ...init.headers, ...(act.body && { 'content-type': 'application/json' }) };
    const body = act.body && { body: JSON.stringify(act.body) };
    const response = await stage.app.request(await act.path(), { ...init, method: act.method, headers, ...body });
    expect([role, response.status, await response.json()]).toEqual([
      role,
      403,
      expect.objectContaining({ need: act.need, error: expect.stringContaining(act.need) }),
    ]);
  }
});

test('a body that does not say which act it is does not change the refusal', async () => {
  for (const body of ['{', '[]', 'x'.repeat(100_000), '{"role":7}']) {
    const init = await stage.as('viewer', 'session');
    const headers = { ...init.headers, 'content-type': 'application/json' };
    const response = await stage.app.request('/api/team', { ...init, method: 'POST', headers, body });
    expect([response.status, await response.json()]).toMatchObject([403, { need: 'admin' }]);
  }
});
