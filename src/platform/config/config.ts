/** An install key: an id and 32 bytes. Tokens are derived from it, and it encrypts the data keys of secrets. */
export interface InstallKey {
  readonly id: string;
  readonly key: Uint8Array;
}

/** All install keys. The first is used for what is signed and encrypted now; all are accepted. */
export interface InstallKeys {
  /** The first key: signs links and encrypts. */
  readonly signing: Uint8Array;
  /** All keys, in their order. */
  readonly ring: readonly InstallKey[];
}

/** The environment, parsed once. No other code reads the environment. */
export interface Config {
  readonly version: string;
  readonly role: 'all' | 'api' | 'worker';
  readonly host: string;
  readonly port: number;
  /** The address printed in links; null when SERVICE_PUBLIC_URL is not set. */
  readonly publicUrl: string | null;
  readonly dataDir: string;
  /** Null starts the embedded server. */
  readonly databaseUrl: string | null;
  readonly temporal: {
    readonly address: string | null;
    readonly namespace: string;
    readonly taskQueue: string;
    readonly tls: { readonly ca: string | null; readonly cert: string | null; readonly key: string | null } | null;
  };
  readonly databaseCa: string | null;
  /** Install keys by id; the first signs, all are accepted. Null: a key is generated in the data folder. */
  readonly keys: readonly InstallKey[] | null;
  readonly bootstrap: { readonly account: string; readonly email: string; readonly password: string | null };
  /** Who may sign up: everyone, people with an invite, or no one. */
  readonly signup: 'open' | 'invite' | 'closed';
  /** The mail provider's URL and the sender's address; a null sender sends no mail. */
  readonly email: {
    readonly apiUrl: string;
    readonly from: string | null;
    /** The operator's SMTP server, for accounts without a key of a mail provider. The URL may contain a password. */
    readonly smtpUrl: string | null;
  };
  readonly devNoAuth: boolean;
  readonly trustProxy: boolean;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  readonly sandbox: 'auto' | 'bubblewrap' | 'none';
  readonly models: {
    readonly file: string | null;
    readonly single: {
      readonly baseUrl: string;
      readonly apiKey: string | null;
      readonly model: string;
      /** USD a million tokens. */
      readonly priceIn: number | null;
      readonly priceOut: number | null;
    } | null;
    /** Provider keys from their usual variables, for `<provider>/<model>`. */
    readonly apiKeys: Readonly<Partial<Record<'openai' | 'anthropic' | 'google', string>>>;
    /** How long one call of a run waits while its providers fail with transient errors, in ms; 0 does not wait. */
    readonly waitMs: number;
    /** Reads a variable that the models file names; undefined when unset. */
    readonly env: (name: string) => string | undefined;
    /** Time limit of one model call, in ms; the default of `src/models` when left out. */
    readonly callTimeoutMs?: number;
  };
  readonly s3: {
    readonly endpoint: string;
    readonly bucket: string;
    readonly accessKey: string;
    readonly secretKey: string;
    readonly region: string;
  } | null;
  /** Private hosts, spelled as in a URL, that requests to URLs from users may reach. A null port allows any port. */
  readonly allowHosts: readonly { readonly host: string; readonly port: number | null }[];
  readonly metricsToken: string | null;
  /** The name of the failpoint at which the process kills itself; for tests. */
  readonly failpoint: string | null;
}

/** Lists every invalid variable at once, so that one start shows them all. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly faults: readonly ConfigFault[]) {
    const lines = faults.map(({ variable, message }) => `  ${variable}: ${message}`);
    super(`invalid environment:\n${lines.join('\n')}`);
  }
}

export interface ConfigFault {
  readonly variable: string;
  /** What is wrong, and what is valid. Never contains the value of a secret. */
  readonly message: string;
}

/**
 * Parses `id:base64,id:base64`, each key of 32 bytes; the first signs. Returns a text that says what is wrong when the
 * value is invalid. The text never contains a key.
 */
export function parseInstallKeys(text: string): readonly InstallKey[] | string {
  const keys: InstallKey[] = [];
  for (const [index, entry] of text.split(',').entries()) {
    const [, id, encoded] = /^\s*([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/_-]+={0,2})\s*$/.exec(entry) ?? [];
    if (id === undefined || encoded === undefined) return `key ${index + 1} must be written id:base64`;
    const key = new Uint8Array(Buffer.from(encoded, 'base64'));
    if (key.length !== 32) return `key "${id}" has ${key.length} bytes and must have 32 (openssl rand -base64 32)`;
    if (keys.some((other) => other.id === id)) return `the id "${id}" is there twice`;
    keys.push({ id, key });
  }
  return keys;
}
