import { resolve } from 'node:path';
import { foldName } from '../../shared/ids.js';
import { isLoopback } from '../../shared/is-loopback.js';
import { parseAllowHosts } from './allow-hosts.js';
import { type Config, ConfigError, parseInstallKeys } from './config.js';
import { readEmail } from './email.js';
import { readModels } from './models.js';
import type { Environment } from './read-environment.js';
import { address, oneOf, parsers, Reader } from './reader.js';
import { readS3 } from './s3.js';
import { readTemporal } from './temporal.js';

/** The whole environment as one frozen Config. Throws one ConfigError that names every bad variable. */
export function parseConfig(env: Environment, version: string): Config {
  const reader = new Reader(env);
  const config: Config = {
    version,
    role: reader.read('SERVICE_ROLE', oneOf('all', 'api', 'worker'), 'all'),
    host: reader.text('SERVICE_HOST') ?? '127.0.0.1',
    port: reader.read('SERVICE_PORT', parsers.port, 4747),
    publicUrl: reader.read('SERVICE_PUBLIC_URL', address('https://signalbox.example.com', 'http', 'https'), null),
    dataDir: resolve(reader.text('SERVICE_DATA_DIR') ?? '.data'),
    databaseUrl: reader.read(
      'DATABASE_URL',
      address('postgresql://user:password@host:5432/name', 'postgres', 'postgresql'),
      null,
    ),
    databaseCa: reader.text('DATABASE_CA'),
    temporal: readTemporal(reader),
    keys: reader.read('SERVICE_KEYS', parseKeys, null),
    bootstrap: readBootstrap(reader),
    signup: reader.read('SERVICE_SIGNUP', oneOf('open', 'invite', 'closed'), 'invite'),
    email: readEmail(reader),
    devNoAuth: reader.read('SERVICE_DEV_NO_AUTH', parsers.flag, false),
    trustProxy: reader.read('SERVICE_TRUST_PROXY', parsers.flag, false),
    logLevel: reader.read('SERVICE_LOG_LEVEL', oneOf('debug', 'info', 'warn', 'error', 'silent'), 'info'),
    sandbox: reader.read('SERVICE_SANDBOX', oneOf('auto', 'bubblewrap', 'none'), 'auto'),
    models: readModels(reader),
    s3: readS3(reader),
    allowHosts: reader.read('SERVICE_ALLOW_HOSTS', parseAllowHosts, []),
    metricsToken: reader.text('SERVICE_METRICS_TOKEN'),
    failpoint: reader.text('SERVICE_FAILPOINT'),
  };
  checkTogether(config, reader);
  if (reader.faults.length > 0) throw new ConfigError(reader.faults);
  return freeze(config);
}

const parseKeys = (text: string) => {
  const keys = parseInstallKeys(text);
  return typeof keys === 'string' ? { fault: keys } : { value: keys };
};

function readBootstrap(reader: Reader): Config['bootstrap'] {
  const account = reader.text('SERVICE_BOOTSTRAP_ACCOUNT') ?? 'main';
  if (foldName(account) === '')
    reader.fault('SERVICE_BOOTSTRAP_ACCOUNT', `is "${account}" and must hold a letter from a to z or a digit`);
  const password = reader.text('SERVICE_BOOTSTRAP_PASSWORD');
  if (password !== null && password.length < 12)
    reader.fault('SERVICE_BOOTSTRAP_PASSWORD', 'must have 12 characters at least');
  return { account, email: reader.read('SERVICE_BOOTSTRAP_EMAIL', parsers.email, 'owner@localhost'), password };
}

/** Settings of an external server, which the embedded one would silently ignore. */
const COMPANIONS = {
  DATABASE_URL: ['DATABASE_CA'],
  TEMPORAL_ADDRESS: ['TEMPORAL_NAMESPACE', 'TEMPORAL_TLS', 'TEMPORAL_TLS_CA', 'TEMPORAL_TLS_CERT', 'TEMPORAL_TLS_KEY'],
} as const;

/** Faults of combinations of variables. */
function checkTogether(config: Config, reader: Reader): void {
  if (config.devNoAuth && !isLoopback(config.host)) {
    reader.fault(
      'SERVICE_DEV_NO_AUTH',
      `lets everyone in, so it needs SERVICE_HOST to be 127.0.0.1, ::1 or localhost, not ${config.host}`,
    );
  }
  const bad = new Set(reader.faults.map(({ variable }) => variable));
  for (const [server, companions] of Object.entries(COMPANIONS)) {
    if (reader.text(server) !== null) continue;
    for (const variable of companions.filter((name) => reader.text(name) !== null && !bad.has(name))) {
      reader.fault(
        variable,
        `belongs to ${server}, which is not set, so the embedded one would start: set both or none`,
      );
    }
  }
  if (config.role === 'all') return;
  const needed = { DATABASE_URL: config.databaseUrl, TEMPORAL_ADDRESS: config.temporal.address };
  for (const [variable, value] of Object.entries(needed)) {
    if (value === null && !bad.has(variable)) {
      reader.fault(
        variable,
        `is needed with SERVICE_ROLE=${config.role}: only SERVICE_ROLE=all starts an embedded one`,
      );
    }
  }
}

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  for (const entry of Object.values(value)) freeze(entry);
  return Object.freeze(value);
}
