import { beforeAll, expect, test } from 'vitest';
import { liveToken, openSecret } from '../../src/secrets/index.js';
import { errorMessage } from '../../src/shared/refusal.js';
import { createTestApp, type TestApp } from '../support/create-test-app.js';
import { HOSTILE_URLS } from '../support/hostile-urls.js';
import { startLocalServer } from '../support/local-server.js';

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});

/** Over https too, so that it is the address that is refused and not the want of TLS. */
const ALL = HOSTILE_URLS.flatMap(([url]) => [url, url.replace(/^http:/i, 'https:')]).filter((url) => url !== '');

test('security 21: no hostile address becomes a token endpoint: it is refused when it is stored, or when it is asked', async () => {
  const server = await startLocalServer((_request, response) => void response.end('{}'));
  for (const url of new Set(ALL)) {
    const token_url = url.replaceAll('8765', String(server.port));
    const oauth2 = { token_url, client_id: 'id', client_secret: 'client-secret', refresh_token: 'refresh-token' };
    const stored = await app.put('/api/secrets', { name: 'HOSTILE', oauth2 });
    if (stored.status !== 200) expect([url, stored.status]).toEqual([url, 422]);
    // Either way no connection was tried: what did not answer would be told in other words.
    // Only what a name leads to shows at the connection alone; not every machine knows the name.
    else expect(await tokenOf(), url).toMatch(/has no public address/);
  }
  expect(server.requests).toEqual([]);
});

async function tokenOf(): Promise<string> {
  const { db, keys } = app.deps;
  const secret = await openSecret(db, keys, { tenant: app.tenant, workspace: null, name: 'HOSTILE' });
  if (secret === null) throw new Error('it was not stored');
  return liveToken(app.deps, secret).then(({ token }) => token, errorMessage);
}

test('security 21: no hostile address is registered as a provider’s', async () => {
  const good = 'https://id.example/x';
  for (const url of new Set(HOSTILE_URLS.map(([one]) => one))) {
    for (const urls of [
      { authorize_url: url, token_url: good },
      { authorize_url: good, token_url: url },
    ]) {
      const config = { ...urls, client_secret: 'client-secret' };
      const response = await app.post('/api/oauth/clients', { name: 'hostile', client: 'a', config });
      expect([url, response.status]).toEqual([url, 422]);
    }
  }
});
