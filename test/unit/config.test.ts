import { expect, test } from 'vitest';
import { type Config, ConfigError, parseConfig } from '../../src/platform/config/index.js';
import { fc } from '../support/properties.js';

const KEY = Buffer.alloc(32, 7).toString('base64');

function faults(env: Record<string, string | undefined>): Record<string, string> {
  try {
    parseConfig(env, '1.0.0');
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return Object.fromEntries(error.faults.map(({ variable, message }) => [variable, message]));
  }
  return {};
}

test('nothing set gives the one-machine default', () => {
  expect(parseConfig({}, '1.0.0')).toMatchObject({
    version: '1.0.0',
    role: 'all',
    host: '127.0.0.1',
    port: 4747,
    publicUrl: null,
    dataDir: expect.stringMatching(/\/\.data$/),
    databaseUrl: null,
    temporal: { address: null, namespace: 'default', taskQueue: 'signalbox', tls: null },
    keys: null,
    bootstrap: { account: 'main', email: 'owner@localhost', password: null },
    signup: 'invite',
    email: { apiUrl: 'https://api.resend.com/emails', from: null, smtpUrl: null },
    devNoAuth: false,
    trustProxy: false,
    logLevel: 'info',
    sandbox: 'auto',
    models: { file: null, single: null, apiKeys: {}, waitMs: 1_800_000 },
    s3: null,
    allowHosts: [],
    metricsToken: null,
    failpoint: null,
  } satisfies Partial<Record<keyof Config, unknown>>);
});

test('empty means unset', () => {
  const names = [
    'SERVICE_PORT',
    'SERVICE_ROLE',
    'DATABASE_URL',
    'SERVICE_KEYS',
    'SERVICE_LLM_BASE_URL',
    'TEMPORAL_TLS',
    'SERVICE_S3_REGION',
  ];
  expect(parseConfig(Object.fromEntries(names.map((name) => [name, '  '])), '1')).toEqual({
    ...parseConfig({}, '1'),
    models: expect.anything(),
  });
});

test('everything set is read', () => {
  const config = parseConfig(
    {
      SERVICE_ROLE: 'api',
      SERVICE_HOST: '0.0.0.0',
      SERVICE_PORT: '0',
      SERVICE_PUBLIC_URL: 'https://box.example.com/',
      DATABASE_URL: 'postgresql://u:p@db:5432/box',
      TEMPORAL_ADDRESS: 'temporal:7233',
      TEMPORAL_TLS_CERT: 'c.pem',
      TEMPORAL_TLS_KEY: 'k.pem',
      SERVICE_KEYS: `new:${KEY},old:${KEY}`,
      SERVICE_TRUST_PROXY: '1',
      SERVICE_LLM_BASE_URL: 'http://127.0.0.1:8080/v1/',
      SERVICE_LLM_MODEL: 'small',
      SERVICE_LLM_PRICE_IN: '0.15',
      SERVICE_LLM_PRICE_OUT: '0.6',
      OPENAI_API_KEY: 'sk-1',
      SERVICE_S3_ENDPOINT: 'http://s3:9000',
      SERVICE_S3_BUCKET: 'b',
      SERVICE_S3_ACCESS_KEY: 'a',
      SERVICE_S3_SECRET_KEY: 's',
      SERVICE_ALLOW_HOSTS: 'CRM.internal:8080, 10.1.2.3 ,[FD00::1]:443,',
      SERVICE_FAILPOINT: 'run-committed',
      ANYTHING_ELSE: 'x',
    },
    '1',
  );
  expect(config).toMatchObject({
    role: 'api',
    port: 0,
    publicUrl: 'https://box.example.com',
    temporal: { address: 'temporal:7233', tls: { ca: null, cert: 'c.pem', key: 'k.pem' } },
    keys: [{ id: 'new' }, { id: 'old' }],
    trustProxy: true,
    models: {
      single: { baseUrl: 'http://127.0.0.1:8080/v1', model: 'small', apiKey: null, priceIn: 0.15, priceOut: 0.6 },
      apiKeys: { openai: 'sk-1' },
    },
    s3: { region: 'us-east-1' },
    allowHosts: [
      { host: 'crm.internal', port: 8080 },
      { host: '10.1.2.3', port: null },
      { host: '[fd00::1]', port: 443 },
    ],
    failpoint: 'run-committed',
  });
  expect(config.keys?.[0]?.key).toHaveLength(32);
  expect(config.models.env('ANYTHING_ELSE')).toBe('x');
});

test('one error names every bad variable, with what would be right', () => {
  const env = {
    SERVICE_ROLE: 'boss',
    SERVICE_PORT: '99999',
    SERVICE_PUBLIC_URL: 'box.example.com',
    DATABASE_URL: 'mysql://u:hunter2@h/d',
    TEMPORAL_ADDRESS: 'temporal',
    TEMPORAL_TLS: 'maybe',
    SERVICE_KEYS: 'k1:c2hvcnQ=',
    SERVICE_BOOTSTRAP_ACCOUNT: '!!!',
    SERVICE_BOOTSTRAP_EMAIL: 'nobody',
    SERVICE_BOOTSTRAP_PASSWORD: 'short',
    SERVICE_TRUST_PROXY: 'yes please',
    SERVICE_LOG_LEVEL: 'loud',
    SERVICE_SANDBOX: 'docker',
    SERVICE_LLM_BASE_URL: 'not an address',
    SERVICE_LLM_PRICE_IN: 'cheap',
    SERVICE_S3_ENDPOINT: 'nope',
    SERVICE_ALLOW_HOSTS: 'http://crm.internal/',
  };
  const found = faults(env);
  const alsoMissing = ['SERVICE_LLM_MODEL', 'SERVICE_S3_BUCKET', 'SERVICE_S3_ACCESS_KEY', 'SERVICE_S3_SECRET_KEY'];
  expect(Object.keys(found).sort()).toEqual([...Object.keys(env), ...alsoMissing].sort());
  expect(found.SERVICE_PORT).toBe('is "99999" and must be a port, 0 to 65535 (0 takes any free one)');
  expect(found.SERVICE_ROLE).toBe('is "boss" and must be one of all, api, worker');
  expect(() => parseConfig(env, '1')).toThrow(/SERVICE_PORT: .*\n(.*\n)*.*SERVICE_S3_ENDPOINT: /);
});

test('no message holds a secret', () => {
  const text = JSON.stringify(
    faults({
      DATABASE_URL: 'mysql://u:hunter2@h/d',
      SERVICE_KEYS: 'k:aHVudGVyMg==',
      SERVICE_BOOTSTRAP_PASSWORD: 'hunter2',
    }),
  );
  expect(text).not.toMatch(/hunter2|aHVudGVyMg/);
});

test('the roles api and worker say that they need their own Postgres and Temporal', () => {
  for (const SERVICE_ROLE of ['api', 'worker']) {
    const found = faults({ SERVICE_ROLE });
    expect(Object.keys(found).sort()).toEqual(['DATABASE_URL', 'TEMPORAL_ADDRESS']);
    expect(found.DATABASE_URL).toContain(`SERVICE_ROLE=${SERVICE_ROLE}`);
  }
});

test('a setting of a server of one’s own is refused where the embedded one would pass over it', () => {
  const ofTemporal = { TEMPORAL_NAMESPACE: 'prod', TEMPORAL_TLS: '1', TEMPORAL_TLS_CA: 'ca.pem' };
  const found = faults({ ...ofTemporal, DATABASE_CA: 'ca.pem' });
  expect(Object.keys(found).sort()).toEqual([...Object.keys(ofTemporal), 'DATABASE_CA'].sort());
  expect(found.TEMPORAL_NAMESPACE).toContain('belongs to TEMPORAL_ADDRESS, which is not set');
  expect(found.DATABASE_CA).toContain('belongs to DATABASE_URL, which is not set');
  const own = { TEMPORAL_ADDRESS: 'temporal:7233', DATABASE_URL: 'postgresql://u:p@db/box' };
  expect(faults({ ...ofTemporal, DATABASE_CA: 'ca.pem', ...own })).toEqual({});
});

test('SERVICE_DEV_NO_AUTH is refused anywhere but on loopback', () => {
  for (const SERVICE_HOST of ['0.0.0.0', '::', '192.168.0.2', 'example.com', '127.evil.com']) {
    expect(faults({ SERVICE_DEV_NO_AUTH: '1', SERVICE_HOST })).toHaveProperty('SERVICE_DEV_NO_AUTH');
  }
  for (const SERVICE_HOST of ['', '127.0.0.1', '127.0.0.2', 'localhost', '::1']) {
    expect(faults({ SERVICE_DEV_NO_AUTH: '1', SERVICE_HOST })).toEqual({});
  }
});

test('install keys: a wrong form, a wrong length and an id twice are named by their place or id', () => {
  expect(faults({ SERVICE_KEYS: KEY })).toEqual({ SERVICE_KEYS: 'key 1 must be written id:base64' });
  expect(faults({ SERVICE_KEYS: `a:${KEY},b:YQ==` }).SERVICE_KEYS).toContain('key "b" has 1 bytes and must have 32');
  expect(faults({ SERVICE_KEYS: `a:${KEY},a:${KEY}` })).toEqual({ SERVICE_KEYS: 'the id "a" is there twice' });
});

test('SERVICE_ALLOW_HOSTS takes hosts and ports, and no address, pattern or range', () => {
  for (const bad of ['*', '*.internal', '10.0.0.0/8', 'a:0', 'a:70000', 'user@a', '::1', 'a b', 'a?b']) {
    expect(faults({ SERVICE_ALLOW_HOSTS: bad }), bad).toHaveProperty('SERVICE_ALLOW_HOSTS');
  }
  expect(parseConfig({ SERVICE_ALLOW_HOSTS: '0x7f.1:80' }, '1').allowHosts).toEqual([{ host: '127.0.0.1', port: 80 }]);
});

test('the result is frozen to its leaves', () => {
  const config = parseConfig({ SERVICE_KEYS: `a:${KEY}` }, '1');
  for (const part of [config, config.temporal, config.models, config.models.apiKeys, config.keys, config.keys?.[0]]) {
    expect(Object.isFrozen(part)).toBe(true);
  }
});

test('no environment makes it throw anything but a ConfigError', () => {
  const names = [
    'SERVICE_ROLE',
    'SERVICE_PORT',
    'SERVICE_PUBLIC_URL',
    'DATABASE_URL',
    'TEMPORAL_ADDRESS',
    'SERVICE_KEYS',
    'SERVICE_LLM_BASE_URL',
    'SERVICE_S3_ENDPOINT',
  ];
  const environment = fc.dictionary(fc.constantFrom(...names), fc.string({ unit: 'binary' }));
  fc.assert(fc.property(environment, (env) => void faults(env)));
});
