/** A key under which tokens are derived and secrets wrapped: 32 bytes, and the id that says which. */
export interface InstallKey {
  readonly id: string;
  readonly key: Uint8Array;
}

/** The keys under which tokens are derived and secrets are wrapped. The first signs; all are accepted. */
export interface InstallKeys {
  /** Signs links, and wraps what is written: the first of them. */
  readonly signing: Uint8Array;
  /** All of them, in their order. */
  readonly ring: readonly InstallKey[];
}

/** Everything the environment says, read once. Nothing else reads the environment. */
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
  /** Install keys by id; the first signs, all are accepted. Null: made in the data folder. */
  readonly keys: readonly InstallKey[] | null;
  readonly bootstrap: { readonly account: string; readonly email: string; readonly password: string | null };
  /** Who may sign up: everyone, people with an invite, or no one. */
  readonly signup: 'open' | 'invite' | 'closed';
  /** Where mails are posted, and whom they are from; null sends none. */
  readonly email: {
    readonly apiUrl: string;
    readonly from: string | null;
    /** The operator's own mail server, for accounts without a key of a provider's; it may hold a password. */
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
    /** Keys of providers by the usual names, for `<provider>/<model>`. */
    readonly apiKeys: Readonly<Partial<Record<'openai' | 'anthropic' | 'google', string>>>;
    /** How long one call of a run waits for providers that fail in passing, in ms; 0 does not wait. */
    readonly waitMs: number;
    /** Reads a variable that the models file names; undefined when unset. */
    readonly env: (name: string) => string | undefined;
    /** How long one call of a model may take; the default of the models when left out. */
    readonly callTimeoutMs?: number;
  };
  readonly s3: {
    readonly endpoint: string;
    readonly bucket: string;
    readonly accessKey: string;
    readonly secretKey: string;
    readonly region: string;
  } | null;
  /** Hosts, in the spelling of a URL, that requests to users' addresses reach although they are private; null: any port. */
  readonly allowHosts: readonly { readonly host: string; readonly port: number | null }[];
  readonly metricsToken: string | null;
  /** Kills the process at the instruction of this name; for tests. */
  readonly failpoint: string | null;
}

/** Lists every invalid variable at once, so that one start shows them all. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly faults: readonly ConfigFault[]) {
    const lines = faults.map(({ variable, message }) => `  ${variable}: ${message}`);
    super(`the environment is not right:\n${lines.join('\n')}`);
  }
}

export interface ConfigFault {
  readonly variable: string;
  /** What is wrong, and what would be right. Never the value of a secret. */
  readonly message: string;
}

/** `id:base64,id:base64`, each of 32 bytes; the first signs. A text is what is wrong with it, without the key itself. */
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
