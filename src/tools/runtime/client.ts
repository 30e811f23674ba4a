import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';

/** What the machine's own client of a registry is set up with, for the same client inside the sandbox. */
export interface Client {
  /** `host` or `host:port` of its registries. */
  readonly hosts: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly files: readonly { readonly inside: string; readonly content: string }[];
  readonly readOnly: readonly { readonly host: string; readonly inside: string }[];
  /** Secrets in its settings, which are redacted from its output. */
  readonly hidden: readonly string[];
}

const ASK_MS = 30_000;

/** What a program of this machine answers, in its own environment; null when it fails or is not there. */
export function ask(program: string, args: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    // Not in the service's folder: npm would take that for a project with settings of its own.
    execFile(program, args, { cwd: '/', timeout: ASK_MS, maxBuffer: 4_194_304 }, (error, stdout) =>
      resolve(error ? null : stdout),
    );
  });
}

export function hostOf(address: string): readonly string[] {
  return URL.canParse(address) && /^https?:/.test(address) ? [new URL(address).host] : [];
}

/** The user and the password of an address. */
export function credentialsOf(address: string): readonly string[] {
  if (!URL.canParse(address)) return [];
  const { username, password } = new URL(address);
  return [username, password].flatMap((part) => (part.length < 6 ? [] : [part, decodeURIComponent(part)]));
}

export async function certificate(path: string | undefined, inside: string): Promise<Client['files']> {
  if (path === undefined || path === '') return [];
  const content = await readFile(path, 'utf8').catch(() => null);
  return content === null ? [] : [{ inside, content }];
}
