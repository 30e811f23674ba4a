import { beforeAll, describe, expect, test } from 'vitest';
import type { Route } from '../../src/api/define-route.js';
import { routes } from '../../src/api/routes/index.js';
import { type AccessStage, createAccessStage } from '../support/access-stage.js';
import type { TestRequest } from '../support/create-test-app.js';

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}
interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> };
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

let stage: AccessStage;
let document: Document;
beforeAll(async () => {
  stage = await createAccessStage();
  document = (await (await stage.app.get('/api/openapi.json')).json()) as Document;
});

const named = (of: readonly Route[]) =>
  of.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route] as const);
/** A token in its address is a route's own proof: it says nothing before that was checked. */
const checked = named(routes.filter(({ access }) => access !== 'token'));
const guarded = named(routes.filter(({ access }) => typeof access === 'object'));

const operationOf = ({ path, method }: Route): Operation => document.paths[path]?.[method] ?? {};

/** The keys that an object may have, whichever of its forms is meant. */
function keysOf(schema: Schema | undefined): string[] {
  if (schema === undefined) return [];
  const { $ref, properties = {}, allOf = [], anyOf = [], oneOf = [] } = schema;
  const target = $ref === undefined ? undefined : document.components.schemas[$ref.split('/').at(-1) ?? ''];
  return [...Object.keys(properties), ...[...allOf, ...anyOf, ...oneOf, ...(target ? [target] : [])].flatMap(keysOf)];
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function send(route: Route, query: string, init: TestRequest = {}): Promise<Answer> {
  const owner = await stage.as('owner', 'session');
  const path = await stage.pathOf(route);
  const response = await stage.app.request(`${path}${query}`, {
    ...owner,
    ...init,
    method: route.method.toUpperCase(),
    headers: { ...owner.headers, ...init.headers },
  });
  const isStream = response.headers.get('content-type')?.includes('event-stream') ?? false;
  if (isStream) await response.body?.cancel();
  return { status: response.status, text: isStream ? '' : await response.text() };
}

/** What a validator says when nobody put it in words. */
const RAW =
  /invalid (input|option|string|number|discriminator)|received|\bNaN\b|undefined|too (big|small)|unrecognized|expected (string|number|boolean|object|array|int|nan)\b|must match pattern/i;

function expectRefusal({ status, text }: Answer): void {
  if (status < 400) return;
  const body = JSON.parse(text) as { error: string; code: string; issues?: readonly { message: string }[] };
  expect(body).toMatchObject({
    error: expect.stringMatching(/\w/),
    code: expect.stringMatching(/^[\w-]+(\/[\w-]+)*$/),
  });
  expect(text).not.toMatch(RAW);
}

const WRONG: readonly unknown[] = [null, 0.5, '', 'x'.repeat(300_000), true, [], [{}], {}, { a: [] }, -1, ['', 7]];

describe.each(checked)('%s', (_name, route) => {
  test('says of each value that it cannot take what it can, with a code and without its validator’s own words', async () => {
    const operation = operationOf(route);
    const schemas = Object.values(operation.requestBody?.content ?? {}).map(({ schema }) => schema);
    const keys = [...new Set(schemas.flatMap(keysOf))];
    const headers = { 'content-type': 'application/json' };
    const bodies = [...WRONG, ...WRONG.map((value) => Object.fromEntries(keys.map((key) => [key, value])))];
    if (operation.requestBody)
      for (const body of bodies) expectRefusal(await send(route, '', { headers, body: JSON.stringify(body) }));
    const asked = (operation.parameters ?? []).filter((one) => one.in === 'query').map(({ name }) => name);
    for (const value of ['', 'x', '-1', '1.5', 'NaN', 'x'.repeat(9_000), '1e99'])
      if (asked.length > 0) expectRefusal(await send(route, `?${asked.map((key) => `${key}=${value}`).join('&')}`));
  });
});

describe.each(named(routes))('%s', (_name, route) => {
  test('refuses a character that Postgres cannot store, wherever it comes', async () => {
    const operation = operationOf(route);
    const keys = Object.values(operation.requestBody?.content ?? {}).flatMap(({ schema }) => keysOf(schema));
    const asked = (operation.parameters ?? []).filter((one) => one.in === 'query').map(({ name }) => name);
    const own = (await stage.pathOf(route)).split('/');
    const places = route.path.split('/').flatMap((part, at) => (/[{:]/.test(part) ? [at] : []));
    const calls = [
      ...places.map((place) => [own.with(place, 'a%00b').join('/'), {}] as const),
      ...asked.map((key) => [`${own.join('/')}?${key}=a%00b`, {}] as const),
      ...keys.map((key) => [own.join('/'), { [key]: 'a\0b' }] as const),
    ];
    for (const [address, body] of calls) {
      const owner = await stage.as('owner', 'session');
      const json = operation.requestBody && {
        headers: { ...owner.headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      };
      const method = route.method.toUpperCase();
      const response = await stage.app.request(address, { ...owner, ...json, method });
      await response.body?.cancel();
      expect([address, body, response.status < 500]).toEqual([address, body, true]);
    }
  });
});

/** A provider adds parameters of its own to the address that it sends the person back to. */
const LOOSE = '/api/oauth/callback';
const closed = guarded.filter(([, { method, path }]) => (method === 'get' || method === 'delete') && path !== LOOSE);

describe.each(closed)('%s', (_name, route) => {
  test('refuses a key of its query that it does not know, and says which was meant', async () => {
    const known = (operationOf(route).parameters ?? []).filter((one) => one.in === 'query').map(({ name }) => name);
    const strange = await send(route, '?zzzzzz=x');
    expect([strange.status, JSON.parse(strange.text).issues]).toMatchObject([
      422,
      expect.arrayContaining([{ path: 'query.zzzzzz', message: expect.stringMatching(/^unknown key/) }]),
    ]);
    for (const key of known.filter((name) => name.length > 2)) {
      const { status, text } = await send(route, `?${key}s=x`);
      expect([status, JSON.parse(text).issues]).toMatchObject([
        422,
        expect.arrayContaining([{ path: `query.${key}s`, message: `unknown key; did you mean "${key}"?` }]),
      ]);
    }
  });
});

test('what others add to the address of a page, a probe or a trigger does no harm', async () => {
  for (const path of ['/', '/sign-in', '/api/healthz'])
    expect([path, (await stage.app.get(`${path}?utm_source=mail`, { as: null })).status]).toEqual([path, 200]);
});
