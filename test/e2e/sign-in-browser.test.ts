import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApp } from '../../src/api/app.js';
import { type ApiServer, serveApi } from '../../src/api/serve.js';
import { browserPath, startBrowser } from '../support/browser.js';
import { createTestApp, type TestApp } from '../support/create-test-app.js';
import { createPerson, PASSWORD, type Person } from '../support/sessions.js';

const withBrowser = test.runIf(browserPath !== null);
let app: TestApp;
let server: ApiServer;
let browser: Browser;
let person: Person;

beforeAll(async () => {
  app = await createTestApp();
  const deps = { ...app.deps, config: { ...app.deps.config, port: 0 } };
  server = await serveApi(deps, createApp(deps));
  person = await createPerson(app, 'editor');
  if (browserPath !== null) browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await server.close();
});

async function call(path: string, body?: object): Promise<Record<string, string>> {
  const headers = { 'content-type': 'application/json' };
  const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : {};
  return (await (await fetch(server.url + path, init)).json()) as Record<string, string>;
}

async function signIn(page: Page, password: string): Promise<void> {
  await page.getByLabel('E-mail address').fill(person.email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

withBrowser('without script a person signs in on the way to a terminal’s request, and approves it', async () => {
  // `javaScriptEnabled: false` is what no-script browsers do; the origin is plain http, as on a machine of one's own.
  const page = await browser.newPage({ javaScriptEnabled: false });
  const started = await call('/api/cli/login', { hostname: 'ada-laptop' });
  const refused: string[] = [];
  page.on('console', (message) => refused.push(message.text()));
  await page.goto(started.verifyUrl ?? '');
  expect(new URL(page.url()).pathname).toBe('/sign-in');
  await signIn(page, 'not the password');
  expect(await page.getByRole('alert').textContent()).toBe('The address or the password is wrong.');
  await signIn(page, PASSWORD);
  expect(page.url()).toBe(started.verifyUrl);
  const text = await page.locator('main').textContent();
  for (const shown of [started.code, 'ada-laptop', person.email, `editor of ${app.tenant}`])
    expect(text).toContain(shown);
  await page.getByRole('button', { name: 'Approve' }).click();
  expect(await page.getByRole('heading').textContent()).toBe('Approved');
  expect(await call(`/api/cli/login/${started.id}`)).toMatchObject({ status: 'approved', email: person.email });
  expect(refused).toEqual([]);
  await page.close();
});

/** A site of somebody else, whose page posts this form at a click. */
async function foreignSite(fields: string) {
  const html = `<form method="post" action="${server.url}/api/cli/authorize">${fields}<button name="decision" value="approve">Win</button></form>`;
  const site = createServer((_request, response) => response.setHeader('content-type', 'text/html').end(html));
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  const { port } = site.address() as AddressInfo;
  // localhost and 127.0.0.1 are two origins, and two sites.
  return { url: `http://localhost:${port}/`, close: () => site.close() };
}

withBrowser('a person denies, and the page of another site cannot approve for them', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const started = await call('/api/cli/login', { hostname: 'ada-laptop' });
  await page.goto(started.verifyUrl ?? '');
  await signIn(page, PASSWORD);
  expect(page.url()).toBe(started.verifyUrl);
  const nonce = await page.locator('input[name=nonce]').inputValue();
  const site = await foreignSite(`<input name="code" value="${started.code}"><input name="nonce" value="${nonce}">`);
  const elsewhere = await context.newPage();
  await elsewhere.goto(site.url);
  const [answer] = await Promise.all([
    elsewhere.waitForResponse((response) => response.url().endsWith('/api/cli/authorize')),
    elsewhere.getByRole('button').click(),
  ]);
  // SameSite=Lax: the browser does not even send the cookie.
  expect(answer.status()).toBe(401);
  expect(await call(`/api/cli/login/${started.id}`)).toEqual({ status: 'pending' });
  await page.getByRole('button', { name: 'Deny' }).click();
  expect(await page.getByRole('heading').textContent()).toBe('Denied');
  expect(await call(`/api/cli/login/${started.id}`)).toEqual({ status: 'denied' });
  await context.close();
  site.close();
});
