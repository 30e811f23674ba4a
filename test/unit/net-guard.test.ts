import { expect, onTestFinished, test } from 'vitest';
import { parseConfig } from '../../src/platform/config/index.js';
import { createNet } from '../../src/platform/net/index.js';
import { HOSTILE_URLS } from '../support/hostile-urls.js';
import { startLocalServer } from '../support/local-server.js';

type Names = Readonly<Record<string, readonly string[]>>;

/** A client whose names are the given ones; `open` is SERVICE_ALLOW_HOSTS. */
function client({
  open = '',
  names = {},
}: {
  open?: string;
  names?: Names | ((name: string) => readonly string[]);
} = {}) {
  const found = typeof names === 'function' ? names : (name: string) => names[name] ?? ['127.0.0.1'];
  return createNet({
    config: parseConfig({ SERVICE_ALLOW_HOSTS: open }, '1.0.0'),
    resolve: async (name) => found(name).map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  });
}

test.each(HOSTILE_URLS)('security 21: %j is not asked', async (url, fault) => {
  const server = await startLocalServer((_request, response) => void response.end('reached'));
  const result = await client().request({ url: url.replaceAll('8765', String(server.port)) });
  expect(result).toMatchObject({ kind: 'fault', fault, sent: false });
  expect(server.requests).toEqual([]);
});

test('security 21: a literal is refused before it is asked, and a public name is not', () => {
  expect(client().check('http://10.0.0.1/')?.fault).toBe('denied');
  expect(client().check('https://[::1]/')?.fault).toBe('denied');
  expect(client().check('mailto:a@example.com')?.fault).toBe('bad-url');
  expect(client().check('https://example.com/hook')).toBeNull();
  expect(client().check('http://8.8.8.8/')).toBeNull();
  expect(client().check('http://[2001:4860:4860::8888]/')).toBeNull();
});

test('security 21: a name that leads to a private address is refused, and one among public ones is enough', async () => {
  const names = {
    'inner.test': ['10.0.0.7'],
    'mixed.test': ['93.184.216.34', '192.168.0.1'],
    'six.test': ['2606:2800:220:1::1', 'fd00::1'],
    'mapped.test': ['::ffff:10.0.0.1'],
    'zone.test': ['fe80::1%eth0'],
    'none.test': [],
  };
  const net = client({ names });
  const results = await Promise.all(Object.keys(names).map((name) => net.request({ url: `http://${name}/` })));
  expect(results.map((result) => result.kind === 'fault' && result.fault)).toEqual(results.map(() => 'unresolved'));
  expect(JSON.stringify(results)).not.toMatch(/10\.0\.0\.7|192\.168|fd00/);
});

test('security 21: a refusal does not tell whether a name exists', async () => {
  const outcomes: Readonly<Record<string, () => readonly string[]>> = {
    unknown: () => {
      throw Object.assign(new Error('getaddrinfo ENOTFOUND some.test'), { code: 'ENOTFOUND' });
    },
    'not resolved now': () => {
      throw Object.assign(new Error('getaddrinfo EAI_AGAIN some.test'), { code: 'EAI_AGAIN' });
    },
    'without an address': () => [],
    private: () => ['10.0.0.7'],
    'this machine': () => ['127.0.0.1'],
    metadata: () => ['169.254.169.254'],
    'public and private': () => ['93.184.216.34', 'fd00::1'],
  };
  const url = 'http://some.test/a';
  const seen = await Promise.all(
    Object.values(outcomes).map(async (names) => {
      const net = client({ names });
      return [
        await net.request({ url }),
        await net.open({ url }),
        await net.resolve(url),
        await net.connect({ host: 'some.test', port: 80 }),
      ];
    }),
  );
  const message = `some.test has no public address: correct the name, or try later; for a private one, the operator can open it with SERVICE_ALLOW_HOSTS=some.test:80`;
  const refusal = { kind: 'fault', fault: 'unresolved', message, sent: false };
  expect(seen).toEqual(seen.map(() => [refusal, refusal, refusal, refusal]));
});

test('security 21: what another program is to connect to is checked as well, every address of it', async () => {
  const names = { 'good.test': ['93.184.216.34', '2606:2800:220:1::1'], 'mixed.test': ['93.184.216.34', '10.0.0.7'] };
  const net = client({ names });
  expect(await net.resolve('https://good.test/a')).toMatchObject({ kind: 'resolved', addresses: names['good.test'] });
  expect(await net.resolve('https://mixed.test/a')).toMatchObject({ kind: 'fault', fault: 'unresolved' });
  expect(await net.resolve('http://good.test/a', { httpsOnly: true })).toMatchObject({ fault: 'denied' });
  expect(await net.resolve('https://169.254.169.254/')).toMatchObject({ fault: 'denied' });
  expect(await net.resolve('ftp://good.test/')).toMatchObject({ fault: 'bad-url' });
});

test('security 21: a name is resolved once a connection, so it cannot be public when checked and private when used', async () => {
  const server = await startLocalServer((_request, response) => void response.end('reached'));
  let asked = 0;
  const net = client({
    open: 'rebind.test',
    names: () => {
      asked += 1;
      // Whoever resolves a second time is led to the metadata address.
      return asked === 1 ? ['127.0.0.1'] : ['169.254.169.254'];
    },
  });
  expect(await net.request({ url: `http://rebind.test:${server.port}/` })).toMatchObject({ kind: 'answer' });
  expect(asked).toBe(1);
  expect(await net.request({ url: `http://rebind.test:${server.port}/` })).toMatchObject({ fault: 'unresolved' });
  expect(server.requests).toHaveLength(1);
});

test('security 21: SERVICE_ALLOW_HOSTS opens the named host, and the port when it names one', async () => {
  const server = await startLocalServer((_request, response) => void response.end('hello'));
  const other = await startLocalServer((_request, response) => void response.end('other'));
  const net = client({ open: `127.0.0.1:${server.port},crm.test` });
  const answer = await net.request({ url: server.url });
  expect(answer.kind === 'answer' && Buffer.from(answer.body).toString()).toBe('hello');
  expect(await net.request({ url: `http://CRM.test:${server.port}/` })).toMatchObject({ kind: 'answer', status: 200 });
  expect(await net.request({ url: other.url })).toMatchObject({ fault: 'denied' });
  expect(await net.request({ url: `http://localhost:${server.port}/` })).toMatchObject({ fault: 'denied' });
  expect(other.requests).toEqual([]);
});

test('security 21: a metadata address stays shut, even when the operator names it', async () => {
  const open = '169.254.169.254,169.254.170.2,100.100.100.200,168.63.129.16,[fd00:ec2::254],meta.test,mapped.test';
  const net = client({ open, names: { 'meta.test': ['169.254.169.254'], 'mapped.test': ['::ffff:169.254.169.254'] } });
  for (const host of open.split(',')) {
    const result = await net.request({ url: `http://${host}/latest/meta-data/` });
    const shut = { fault: 'denied', message: expect.stringContaining('always refused') };
    expect(result, host).toMatchObject(host.endsWith('.test') ? { fault: 'unresolved' } : shut);
  }
});

test('security 21: with httpsOnly plain http is refused, but for a host that the operator opened', async () => {
  const server = await startLocalServer((_request, response) => void response.end('hello'));
  const net = client({ open: `127.0.0.1:${server.port}` });
  expect(net.check('http://example.com/token', { httpsOnly: true })?.message).toContain('https only');
  expect(await net.request({ url: server.url, httpsOnly: true })).toMatchObject({ kind: 'answer' });
});

test('a fault names the host and never the path or the query', async () => {
  const net = client({ names: { 'example.com': ['10.0.0.1'] } });
  const urls = [
    'https://example.com/hunter2?token=hunter2',
    'http://127.0.0.1/hunter2',
    'https://u:hunter2@example.com/',
    'hunter2',
  ];
  for (const url of urls) expect(JSON.stringify(await net.request({ url })), url).not.toContain('hunter2');
});

test('the guard holds with a proxy in the environment', async () => {
  const proxy = await startLocalServer((_request, response) => void response.end('proxied'));
  for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy']) process.env[name] = proxy.url;
  onTestFinished(() => {
    for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy']) delete process.env[name];
  });
  expect(await client().request({ url: 'http://inner.test/' })).toMatchObject({ fault: 'unresolved' });
  expect(proxy.requests).toEqual([]);
});
