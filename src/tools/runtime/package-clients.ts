import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { isRecord } from '../../shared/json.js';

const ASK_MS = 30_000;

const NPM_CERTIFICATE = '/run/packages/npm-ca.pem';

const SETTINGS = '/run/packages/npmrc';

const REGISTRY = /^(?:@[^:]+:)?registry$/;

/** `npm config ls` omits credentials; only the files contain them. */
const CREDENTIAL = /^\s*\/\/[^=\s]+:(?:_authToken|_auth|username|_password)\s*=\s*(.+)$/;

/** This machine's npm, with its settings from files and variables (`npm config ls`). Null without npm. */
export async function npmClient(): Promise<Client | null> {
  const listed = await ask('npm', ['config', 'ls', '-l', '--json']);
  const settings: unknown = listed === null ? null : JSON.parse(listed);
  if (!isRecord(settings)) return null;
  const registries = Object.entries(settings).filter(([key]) => REGISTRY.test(key)) as [string, string][];
  const credentials = (
    await Promise.all([settings.globalconfig, settings.userconfig].map((path) => credentialLines(String(path))))
  ).flat();
  const files = await certificate(textOf(settings.cafile), NPM_CERTIFICATE);
  const lines = [
    ...registries.map(([key, address]) => `${key}=${address}`),
    ...credentials.map(({ line }) => line),
    ...(files.length > 0 ? [`cafile=${NPM_CERTIFICATE}`] : []),
    ...(settings['strict-ssl'] === false ? ['strict-ssl=false'] : []),
  ];
  return {
    hosts: [...new Set(registries.flatMap(([, address]) => hostOf(address)))],
    env: { npm_config_userconfig: SETTINGS, npm_config_globalconfig: '/dev/null' },
    files: [...files, { inside: SETTINGS, content: `${lines.join('\n')}\n` }],
    readOnly: [],
    hidden: [...credentials.map(({ value }) => value), ...registries.flatMap(([, address]) => credentialsOf(address))],
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

async function credentialLines(path: string): Promise<{ line: string; value: string }[]> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const lines = text.split('\n').filter((line) => CREDENTIAL.test(line));
  return Promise.all(
    lines.map(async (written) => {
      const line = await filled(written);
      return { line, value: (CREDENTIAL.exec(line)?.[1] ?? '').trim() };
    }),
  );
}

/** Replaces `${NAME}` by this machine's variable, which programs do not have. */
async function filled(line: string): Promise<string> {
  let text = line;
  for (const [whole, name = ''] of line.matchAll(/\$\{(\w+)\}/g)) {
    text = text.replace(whole, ((await ask('printenv', [name])) ?? '').trim());
  }
  return text;
}

const PIP_CERTIFICATE = '/run/packages/pip-ca.pem';

/**
 * The sections of pip's settings, in rising precedence. Only the settings for where packages come from and how to reach
 * them (`PASSED`) are passed on.
 */
const SECTIONS = ['global', 'install', ':env:'];

const PASSED = ['index-url', 'extra-index-url', 'no-index', 'trusted-host', 'timeout', 'default-timeout', 'retries'];

/** Asks pip for its default index. */
const DEFAULTS =
  'from pip._internal.models.index import PyPI; print(PyPI.simple_url); print("https://" + PyPI.file_storage_domain)';

/** This machine's pip, with its settings from files and variables (`pip config list`). Null without pip. */
export async function pipClient(): Promise<Client | null> {
  const listed = (await ask('python3', ['-m', 'pip', 'config', 'list'])) ?? (await ask('pip', ['config', 'list']));
  if (listed === null) return null;
  const settings = parseSettings(listed);
  const links = (settings.get('find-links') ?? '').split(/\s+/).filter((link) => link !== '');
  const folders = await existing(links.filter((link) => link.startsWith('/')));
  const indexes = ['index-url', 'extra-index-url'].flatMap((key) => (settings.get(key) ?? '').split(/\s+/));
  const defaults = settings.has('index-url') ? '' : ((await ask('python3', ['-c', DEFAULTS])) ?? '');
  const addresses = [...indexes, ...links, ...defaults.split(/\s+/)];
  const files = await certificate(settings.get('cert'), PIP_CERTIFICATE);
  const found = [...links.filter((link) => hostOf(link).length > 0), ...folders];
  return {
    hosts: [...new Set(addresses.flatMap(hostOf))],
    env: {
      PIP_CONFIG_FILE: '/dev/null',
      ...Object.fromEntries(PASSED.flatMap((key) => variable(key, settings.get(key)))),
      ...Object.fromEntries(variable('find-links', found.join(' '))),
      ...(files.length > 0 ? { PIP_CERT: PIP_CERTIFICATE } : {}),
    },
    files,
    readOnly: folders.map((folder) => ({ host: folder, inside: folder })),
    hidden: addresses.flatMap(credentialsOf),
  };
}

/** Lines such as `global.index-url='https://…'`. */
export function parseSettings(text: string): Map<string, string> {
  const rows = text.split('\n').flatMap((line) => {
    const [, section = '', key = '', quoted = ''] = /^(:env:|[\w-]+)\.([\w-]+)=(.*)$/.exec(line) ?? [];
    const value = quoted
      .replace(/^(['"])(.*)\1$/, '$2')
      .replaceAll('\\n', ' ')
      .trim();
    return SECTIONS.includes(section) ? [{ section, key, value }] : [];
  });
  rows.sort((a, b) => SECTIONS.indexOf(a.section) - SECTIONS.indexOf(b.section));
  return new Map(rows.map(({ key, value }) => [key, value]));
}

function variable(key: string, value: string | undefined): [string, string][] {
  return value === undefined || value === '' ? [] : [[`PIP_${key.toUpperCase().replaceAll('-', '_')}`, value]];
}

/** The folders that exist and that the programs' user can read too. */
async function existing(folders: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    folders.map(async (folder) => {
      const entry = await stat(folder).catch(() => null);
      return entry?.isDirectory() && (entry.mode & 0o005) === 0o005 ? [folder] : [];
    }),
  );
  return found.flat();
}

/** The settings of the machine's own package client, for the same client inside the sandbox. */
export interface Client {
  /** `host` or `host:port` of its registries. */
  readonly hosts: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly files: readonly { readonly inside: string; readonly content: string }[];
  readonly readOnly: readonly { readonly host: string; readonly inside: string }[];
  /** Secrets in its settings, which are redacted from its output. */
  readonly hidden: readonly string[];
}

/** The output of a program of this machine, in its own environment; null when it fails or is missing. */
function ask(program: string, args: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    // Not in the service's folder, which npm would read as a project with its own settings.
    execFile(program, args, { cwd: '/', timeout: ASK_MS, maxBuffer: 4_194_304 }, (error, stdout) =>
      resolve(error ? null : stdout),
    );
  });
}

function hostOf(address: string): readonly string[] {
  return URL.canParse(address) && /^https?:/.test(address) ? [new URL(address).host] : [];
}

/** The user and the password of a URL. */
function credentialsOf(address: string): readonly string[] {
  if (!URL.canParse(address)) return [];
  const { username, password } = new URL(address);
  return [username, password].flatMap((part) => (part.length < 6 ? [] : [part, decodeURIComponent(part)]));
}

async function certificate(path: string | undefined, inside: string): Promise<Client['files']> {
  if (path === undefined || path === '') return [];
  const content = await readFile(path, 'utf8').catch(() => null);
  return content === null ? [] : [{ inside, content }];
}
