import { readFile } from 'node:fs/promises';
import { isRecord } from '../../shared/json.js';
import { ask, type Client, certificate, credentialsOf, hostOf } from './client.js';

const NPM_CERTIFICATE = '/run/packages/npm-ca.pem';
const SETTINGS = '/run/packages/npmrc';
const REGISTRY = /^(?:@[^:]+:)?registry$/;
/** `npm config ls` keeps these back; they are in the files alone. */
const CREDENTIAL = /^\s*\/\/[^=\s]+:(?:_authToken|_auth|username|_password)\s*=\s*(.+)$/;

/** npm as this machine has it set up: files, variables and all (`npm config ls`). Null where there is no npm. */
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

/** `${NAME}` is a variable of this machine, which programs do not have. */
async function filled(line: string): Promise<string> {
  let text = line;
  for (const [whole, name = ''] of line.matchAll(/\$\{(\w+)\}/g)) {
    text = text.replace(whole, ((await ask('printenv', [name])) ?? '').trim());
  }
  return text;
}
