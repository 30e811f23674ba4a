import { beforeAll, describe, expect, test } from 'vitest';
import { routes } from '../../src/api/routes/index.js';
import { type AccessStage, createAccessStage } from '../support/access-stage.js';
import type { TestRequest } from '../support/create-test-app.js';
import { fillLists } from '../support/list-rows.js';

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
}

let stage: AccessStage;
let run: string;
let owner: TestRequest;
let operations: Readonly<Record<string, Operation>>;
beforeAll(async () => {
  stage = await createAccessStage();
  run = await fillLists(stage);
  await stage.as('owner', 'session');
  owner = await stage.as('owner', 'session');
  const document = (await (await stage.app.get('/api/openapi.json')).json()) as { paths: Record<string, Paths> };
  operations = Object.fromEntries(Object.entries(document.paths).map(([path, { get = {} }]) => [path, get]));
});
type Paths = { readonly get?: Operation };

/** Each list with the key of its items; a list of two kinds has two. */
const LISTS: Readonly<Record<string, readonly string[]>> = {
  '/api/workspaces': ['workspaces'],
  '/api/workspaces/{ws}/source': ['files'],
  '/api/workspaces/{ws}/history': ['changes'],
  '/api/workspaces/{ws}/repo/pushes': ['pushes'],
  '/api/workspaces/{ws}/flows': ['flows'],
  '/api/workspaces/{ws}/agents': ['agents'],
  '/api/workspaces/{ws}/evals': ['evals'],
  '/api/workspaces/{ws}/evals/{eval}/runs': ['runs'],
  '/api/workspaces/{ws}/runs': ['runs'],
  '/api/workspaces/{ws}/runs/{id}/events': ['events'],
  '/api/workspaces/{ws}/runs/{id}/transcript': ['messages'],
  '/api/workspaces/{ws}/hooks/{flow}/deliveries': ['deliveries'],
  '/api/library/history': ['changes'],
  '/api/library/{kind}': ['items'],
  '/api/approvals': ['approvals'],
  '/api/schedule': ['schedules'],
  '/api/audit': ['entries'],
  '/api/notifications': ['notifications'],
  '/api/secrets': ['secrets'],
  '/api/oauth/clients': ['clients'],
  '/api/auth/sessions': ['sessions'],
  '/api/team': ['members', 'invites'],
  '/api/keys': ['keys'],
};

/** Answers that hold lists and are one thing. */
const THINGS = [
  '/',
  '/sign-in',
  '/join',
  '/api/me',
  '/api/account',
  '/api/healthz',
  '/api/openapi.json',
  '/docs/openapi.json',
  '/api/auth/session',
  '/api/cli/login/{id}',
  '/api/cli/authorize',
  '/api/oauth/callback',
  '/api/approve/{tenant}/{ws}/{id}',
  '/api/avatars/{kind}/{id}',
  '/api/workspaces/{ws}',
  '/api/workspaces/{ws}/vocabulary',
  '/api/workspaces/{ws}/repo',
  '/api/workspaces/{ws}/flows/{flow}',
  '/api/workspaces/{ws}/evals/{eval}/runs/{id}',
  '/api/workspaces/{ws}/runs/{id}',
  '/api/workspaces/{ws}/runs/{id}/stream',
  '/api/workspaces/{ws}/runs/{id}/archive',
  '/git/{tenant}/{repo}/info/refs',
];

const FURTHER: Readonly<Record<string, string>> = {
  '/api/workspaces/{ws}/runs/{id}/transcript': 'step=1&',
  '/api/audit': 'action=secret&',
};

interface Page {
  readonly status: number;
  readonly items: readonly string[];
  readonly next: unknown;
  readonly issues: unknown;
}

async function read(path: string, query: string): Promise<Page> {
  const filled = path.includes('/runs/{id}/')
    ? path.replace('{ws}', stage.workspace).replace('{id}', run)
    : await stage.pathOf({ path });
  const response = await stage.app.request(`${filled}?${FURTHER[path] ?? ''}${query}`, owner);
  const body = (await response.json()) as Record<string, unknown>;
  const items = (LISTS[path] ?? []).flatMap((key) => (body[key] ?? []) as object[]);
  return { status: response.status, items: items.map(nameOf), next: body.next, issues: body.issues };
}

/** What tells the items of a list apart, whatever else of them changes between two calls. */
function nameOf(item: object): string {
  const { id, name, path, seq, workspace, flow, runId } = item as Record<string, unknown>;
  return JSON.stringify([id, name, path, seq, workspace, flow, runId]);
}

test('each GET is a list or one thing, and no more than that', () => {
  const gets = routes.filter(({ method }) => method === 'get').map(({ path }) => path);
  expect([...Object.keys(LISTS), ...THINGS].sort()).toEqual([...new Set(gets)].sort());
});

describe.each(Object.keys(LISTS))('GET %s', (path) => {
  test('takes limit and cursor, and says so', () => {
    const names = (operations[path]?.parameters ?? []).filter((one) => one.in === 'query').map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['limit', 'cursor']));
  });

  test('gives each item once when it is read page by page, and none twice', async () => {
    const whole = await read(path, 'limit=200');
    expect([whole.status, whole.next]).toEqual([200, null]);
    expect(whole.items.length).toBeGreaterThanOrEqual(2);
    const seen: string[] = [];
    let next: unknown = '';
    while (next !== null) {
      const page = await read(path, next === '' ? 'limit=1' : `limit=1&cursor=${String(next)}`);
      expect([page.status, page.items.length]).toEqual([200, 1]);
      seen.push(...page.items);
      next = page.next;
    }
    expect(seen).toEqual(whole.items);
  });

  test('refuses a cursor that `next` never gave, of this list or of another, and a limit out of its range', async () => {
    const foreign = (await read(path === '/api/keys' ? '/api/audit' : '/api/keys', 'limit=1')).next;
    const issue = (of: string) => [expect.objectContaining({ path: `query.${of}` })];
    for (const cursor of ['x', '1', 'zzzz', '%00', String(foreign), 'WyJ4Il0', `${String(foreign)}=`, 'a&cursor=b'])
      expect([cursor, await read(path, `cursor=${cursor}`)]).toMatchObject([
        cursor,
        { status: 422, issues: issue('cursor') },
      ]);
    for (const limit of ['0', '201', '-1', '1.5', 'many', ''])
      expect([limit, await read(path, `limit=${limit}`)]).toMatchObject([
        limit,
        { status: 422, issues: issue('limit') },
      ]);
  });
});
