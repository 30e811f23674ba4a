import { stat } from 'node:fs/promises';
import { ask, type Client, certificate, credentialsOf, hostOf } from './client.js';

const PIP_CERTIFICATE = '/run/packages/pip-ca.pem';
/** Of its settings, those that say where packages come from and how one gets there; in the order in which they win. */
const SECTIONS = ['global', 'install', ':env:'];
const PASSED = ['index-url', 'extra-index-url', 'no-index', 'trusted-host', 'timeout', 'default-timeout', 'retries'];
/** Where pip goes when nothing else is set: it knows best itself. */
const DEFAULTS =
  'from pip._internal.models.index import PyPI; print(PyPI.simple_url); print("https://" + PyPI.file_storage_domain)';

/** pip as this machine has it set up: files, variables and all (`pip config list`). Null where there is no pip. */
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

/** Folders that programs' user can read too. */
async function existing(folders: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    folders.map(async (folder) => {
      const entry = await stat(folder).catch(() => null);
      return entry?.isDirectory() && (entry.mode & 0o005) === 0o005 ? [folder] : [];
    }),
  );
  return found.flat();
}
