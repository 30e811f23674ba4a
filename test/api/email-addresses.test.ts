import { beforeAll, expect, test } from 'vitest';
import { routes } from '../../src/api/routes/index.js';
import { parseConfig } from '../../src/platform/config/index.js';
import { newId } from '../../src/shared/ids.js';
import type { TestRequest } from '../support/create-test-app.js';
import { asPerson } from '../support/signed-in-cookie.js';
import { bodyOf, createWorkspaceApp, fileList, SMALL, type WorkspaceApp } from '../support/workspace-app.js';

let app: WorkspaceApp;
let workspace: string;
let owner: TestRequest;
beforeAll(async () => {
  app = await createWorkspaceApp({ routes });
  workspace = (await app.workspace()).name;
  owner = await asPerson(app, app.owner);
});

/** Every place that takes an address: true when it takes this one. */
const PLACES: Readonly<Record<string, (email: string) => Promise<boolean>>> = {
  'sign-up': async (email) => (await signUp(email)).status !== 422,
  invite: async (email) => {
    const { status } = await app.post('/api/team', { email, role: 'viewer' }, owner);
    expect([201, 422]).toContain(status);
    return status === 201;
  },
  'notify of the account': async (email) => isTaken(app.patch('/api/account', { notify: { email } })),
  'notify of a workspace': async (email) => isTaken(app.patch(`/api/workspaces/${workspace}`, { notify: { email } })),
  'notify of a flow': async (email) => isTaken(checked(`notify: { email: ${JSON.stringify(email)} }\n`, 'human')),
  approve: async (email) => isTaken(checked('', `[${JSON.stringify(email)}]`)),
  'the owner of the first account': async (email) => {
    try {
      parseConfig({ DATABASE_URL: 'postgres://db/box', SERVICE_BOOTSTRAP_EMAIL: email }, '1.0.0');
      return true;
    } catch {
      return false;
    }
  },
};

async function isTaken(sent: Promise<Response>): Promise<boolean> {
  const { status } = await sent;
  expect([200, 422]).toContain(status);
  return status === 200;
}

const signUp = (email: string) =>
  app.post('/api/auth/signup', { email, password: 'a long password', account: `a-${newId()}` }, { as: null });

function checked(keys: string, approve: string): Promise<Response> {
  const flow = `---\ndescription: F.\n${keys}---\n\n## One\n\n- approve: ${approve}\n\nRight?\n`;
  const files = fileList({ ...SMALL, 'flows/asks.md': flow });
  return app.post(`/api/workspaces/${workspace}/deploy`, { files, dryRun: true });
}

test.each([
  'a@b@c.test',
  'a b@c.test',
  'a@c .test',
  'a@c.test.',
  'a@.c.test',
  'a@c..test',
  '@c.test',
  'a@',
  'a,b@c.test',
  'a@c.test>',
  '"a"@c.test',
  `${'a'.repeat(250)}@c.test`,
])('what is not an e-mail address is one nowhere: %s', async (email) => {
  for (const [place, takes] of Object.entries(PLACES)) expect([place, await takes(email)]).toEqual([place, false]);
});

test.each([
  (n: string) => `ada.${n}@example.test`,
  (n: string) => `Ada+${n}@EXAMPLE.test`,
  (n: string) => `${n}@localhost`,
  (n: string) => `o'brien-${n}@mail.müller.test`,
])('what is an e-mail address is one everywhere: %#', async (make) => {
  for (const [place, takes] of Object.entries(PLACES))
    expect([place, await takes(make(newId()))]).toEqual([place, true]);
});

test('an account from before the check still signs in', async () => {
  const email = `old,${newId()}@x.test`;
  expect((await app.post('/api/auth/login', { email, password: 'not the password' }, { as: null })).status).toBe(401);
});

test('an invite is kept in one spelling', async () => {
  const wish = { email: `New-${newId()}@EXAMPLE.Test`, role: 'viewer' };
  const invited = await bodyOf(app.post('/api/team', wish, owner));
  expect(invited.email).toMatch(/^new-\w+@example\.test$/);
});
