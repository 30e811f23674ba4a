import { beforeAll, expect, test } from 'vitest';
import { type AccessStage, createAccessStage } from '../support/access-stage.js';

let stage: AccessStage;
beforeAll(async () => {
  stage = await createAccessStage();
});

interface Create {
  readonly method?: 'PUT';
  readonly path: string;
  readonly body: object;
  /** Where the same thing is read, and under which key of a list; the thing itself without a key. */
  readonly read: string;
  readonly key?: string;
}

const WS = '/api/workspaces/{ws}';
const CREATES: readonly Create[] = [
  { path: '/api/workspaces', body: { name: 'made' }, read: '/api/workspaces/made' },
  { path: `${WS}/agents`, body: { name: 'made' }, read: `${WS}/agents?limit=200`, key: 'agents' },
  { path: `${WS}/flows`, body: { name: 'made' }, read: `${WS}/flows/made` },
  { path: `${WS}/evals`, body: { name: 'made' }, read: `${WS}/evals?limit=200`, key: 'evals' },
  {
    path: `${WS}/assets`,
    body: { kind: 'knowledge', name: 'made' },
    read: `${WS}/source?path=knowledge/made.md`,
  },
  {
    path: '/api/library/knowledge',
    body: { path: 'knowledge/made.md', content: '# Made\n' },
    read: '/api/library/knowledge?path=knowledge/made.md',
  },
  {
    path: '/api/oauth/clients',
    body: {
      name: 'made',
      client: 'abc',
      config: {
        authorize_url: 'https://example.com/a',
        token_url: 'https://example.com/t',
        client_secret: 'some-secret',
      },
    },
    read: '/api/oauth/clients',
    key: 'clients',
  },
  { path: '/api/keys', body: { label: 'made' }, read: '/api/keys', key: 'keys' },
  { path: '/api/team', body: { email: 'made@x.test', send: false }, read: '/api/team?limit=200', key: 'invites' },
  {
    method: 'PUT',
    path: '/api/secrets',
    body: { name: 'MADE', value: 'a long value' },
    read: '/api/secrets',
    key: 'secrets',
  },
  {
    method: 'PUT',
    path: '/api/secrets',
    body: { name: 'MADE', value: 'a long value', workspace: '{ws}' },
    read: '/api/secrets?workspace={ws}',
    key: 'secrets',
  },
];

const NAMES = ['id', 'name', 'label', 'email', 'path'] as const;

test.each(CREATES)('$path answers the thing that it made, as it is read afterwards: $body', async (create) => {
  const { method = 'POST', path, body, read, key } = create;
  const fill = (text: string) => text.replaceAll('{ws}', stage.workspace);
  const owner = await stage.as('owner', 'session');
  const call = async (to: string, init: RequestInit = {}) => {
    const headers = { ...owner.headers, 'content-type': 'application/json' };
    const response = await stage.app.request(fill(to), { ...owner, ...init, headers });
    return [response.status, await response.json()] as [number, Record<string, unknown>];
  };
  const [status, made] = await call(path, { method, body: fill(JSON.stringify(body)) });
  expect([status, made]).toEqual([method === 'PUT' ? 200 : 201, expect.any(Object)]);
  const [, answer] = await call(read);
  const things = key === undefined ? [answer] : (answer[key] as Record<string, unknown>[]);
  const thing = things.find((one) => NAMES.every((name) => one[name] === undefined || one[name] === made[name]));
  expect(made).toMatchObject(thing ?? { none: things });
});
