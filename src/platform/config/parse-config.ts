import { resolve } from 'node:path';
import { parseDuration } from '../../shared/duration.js';
import { isEmail } from '../../shared/email.js';
import { foldName } from '../../shared/ids.js';
import { isLoopback } from '../../shared/is-loopback.js';
import { type Config, ConfigError, parseInstallKeys } from './config.js';
import type { Environment } from './read-environment.js';
import { address, duration, oneOf, type Parse, parsers, Reader } from './reader.js';

/** `host` or `host:port`, separated by commas. Hosts are spelled as in a URL, so that the two can be compared. */
const parseAllowHosts: Parse<Config['allowHosts']> = (text) => {
  const hosts: Config['allowHosts'][number][] = [];
  for (const entry of text.split(',').map((part) => part.trim())) {
    if (entry === '') continue;
    const [, name = '', digits] = /^(\[[0-9a-f:.]+\]|[^\s/:@?#*%[\]]+)(?::(\d{1,5}))?$/i.exec(entry) ?? [];
    const port = digits === undefined ? null : Number(digits);
    if (!URL.canParse(`http://${name}`) || port === 0 || (port ?? 1) > 65_535)
      return {
        fault: `holds "${entry}" and must hold host or host:port, with commas between, such as crm.internal:8080`,
      };
    hosts.push({ host: new URL(`http://${name}`).hostname, port });
  }
  return { value: hosts };
};

/** `Name <box@example.com>`, or the address alone. */
const sender: Parse<string> = (text) =>
  isEmail(/^[^<>@\r\n]+<(.+)>$/.exec(text)?.[1] ?? text)
    ? { value: text }
    : { fault: `is "${text}" and must be an address such as Signalbox <box@example.com>` };

const PROVIDER_KEYS = {
  openai: 'OPENAI_API_KEY',
  anthropic: 'ANTHROPIC_API_KEY',
  google: 'GOOGLE_GENERATIVE_AI_API_KEY',
} as const;

const WAIT_MS = 30 * 60_000;

const parseWait: Parse<number> = (text) => {
  const ms = text === '0' ? 0 : parseDuration(text);
  return ms === undefined
    ? { fault: `is "${text}" and must be a duration such as 90s, 30m or 2h, or 0 for no wait` }
    : { value: ms };
};

const LONGEST_CALL_MS = 86_400_000;

const NEEDED = ['SERVICE_S3_ENDPOINT', 'SERVICE_S3_BUCKET', 'SERVICE_S3_ACCESS_KEY', 'SERVICE_S3_SECRET_KEY'] as const;

/** Parses the whole environment into one frozen Config. Throws one ConfigError that names every invalid variable. */
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

/** All four or none: a partial configuration would silently fall back to the disk. */
function readS3(reader: Reader): Config['s3'] {
  const given = NEEDED.filter((variable) => reader.text(variable) !== null);
  const region = reader.text('SERVICE_S3_REGION');
  if (given.length === 0 && region === null) return null;
  for (const variable of NEEDED) {
    if (reader.text(variable) === null)
      reader.fault(
        variable,
        `is needed beside ${given[0] ?? 'SERVICE_S3_REGION'}: a store is set with all of ${NEEDED.join(', ')}`,
      );
  }
  return {
    endpoint: reader.read('SERVICE_S3_ENDPOINT', address('https://s3.example.com', 'http', 'https'), ''),
    bucket: reader.text('SERVICE_S3_BUCKET') ?? '',
    accessKey: reader.text('SERVICE_S3_ACCESS_KEY') ?? '',
    secretKey: reader.text('SERVICE_S3_SECRET_KEY') ?? '',
    region: region ?? 'us-east-1',
  };
}

/** Mails go through an HTTP API, each account under its own key, or through the operator's own server. */
function readEmail(reader: Reader): Config['email'] {
  return {
    apiUrl: reader.read(
      'SERVICE_EMAIL_API_URL',
      address('https://api.resend.com/emails', 'http', 'https'),
      'https://api.resend.com/emails',
    ),
    smtpUrl: reader.read(
      'SERVICE_SMTP_URL',
      address('smtp://user:password@mail.example.com:587', 'smtp', 'smtps'),
      null,
    ),
    from: reader.read('SERVICE_EMAIL_FROM', sender, null),
  };
}

/** Any of the three files means TLS. The config holds the paths; the Temporal connection reads the files. */
function readTemporal(reader: Reader): Config['temporal'] {
  const ca = reader.text('TEMPORAL_TLS_CA');
  const cert = reader.text('TEMPORAL_TLS_CERT');
  const key = reader.text('TEMPORAL_TLS_KEY');
  if (cert !== null && key === null)
    reader.fault('TEMPORAL_TLS_KEY', 'is needed beside TEMPORAL_TLS_CERT: the path of its private key');
  if (key !== null && cert === null)
    reader.fault('TEMPORAL_TLS_CERT', 'is needed beside TEMPORAL_TLS_KEY: the path of the certificate');
  const named = ca !== null || cert !== null || key !== null;
  const on = reader.read('TEMPORAL_TLS', parsers.flag, named);
  if (named && !on)
    reader.fault(
      'TEMPORAL_TLS',
      'is 0 while files for TLS are set: set it to 1, or unset TEMPORAL_TLS_CA, _CERT and _KEY',
    );
  return {
    address: reader.read('TEMPORAL_ADDRESS', parsers.hostPort, null),
    namespace: reader.text('TEMPORAL_NAMESPACE') ?? 'default',
    taskQueue: reader.text('TEMPORAL_TASK_QUEUE') ?? 'signalbox',
    tls: on ? { ca, cert, key } : null,
  };
}

function readModels(reader: Reader): Config['models'] {
  const apiKeys = Object.fromEntries(
    Object.entries(PROVIDER_KEYS).flatMap(([provider, variable]) => {
      const key = reader.text(variable);
      return key === null ? [] : [[provider, key]];
    }),
  );
  return {
    file: reader.text('SERVICE_MODELS_FILE'),
    single: readSingle(reader),
    apiKeys,
    waitMs: reader.read('SERVICE_MODEL_WAIT', parseWait, WAIT_MS),
    env: (name) => reader.text(name) ?? undefined,
    ...readCallTimeout(reader),
  };
}

function readCallTimeout(reader: Reader): Pick<Config['models'], 'callTimeoutMs'> {
  const callTimeoutMs = reader.read('SERVICE_MODEL_CALL_TIMEOUT', duration(LONGEST_CALL_MS), null);
  return callTimeoutMs === null ? {} : { callTimeoutMs };
}

/** One model behind an OpenAI-compatible endpoint: the quickest way to configure a real model. */
function readSingle(reader: Reader): Config['models']['single'] {
  const baseUrl = reader.read('SERVICE_LLM_BASE_URL', address('http://127.0.0.1:11434/v1', 'http', 'https'), null);
  const model = reader.text('SERVICE_LLM_MODEL');
  const apiKey = reader.text('SERVICE_LLM_API_KEY');
  const priceIn = reader.read('SERVICE_LLM_PRICE_IN', parsers.price, null);
  const priceOut = reader.read('SERVICE_LLM_PRICE_OUT', parsers.price, null);
  const hasUrl = reader.text('SERVICE_LLM_BASE_URL') !== null;
  if (hasUrl && model === null)
    reader.fault('SERVICE_LLM_MODEL', 'is needed beside SERVICE_LLM_BASE_URL: the model’s id at that endpoint');
  const others = [model, apiKey, priceIn, priceOut];
  if (!hasUrl && others.some((value) => value !== null)) {
    reader.fault(
      'SERVICE_LLM_BASE_URL',
      'is needed beside the other SERVICE_LLM_ variables: the address of an OpenAI-compatible endpoint, up to /v1',
    );
  }
  if ((priceIn === null) !== (priceOut === null)) {
    reader.fault(
      priceIn === null ? 'SERVICE_LLM_PRICE_IN' : 'SERVICE_LLM_PRICE_OUT',
      'is needed beside the other price: what a run costs takes both',
    );
  }
  return baseUrl === null || model === null ? null : { baseUrl, apiKey, model, priceIn, priceOut };
}
