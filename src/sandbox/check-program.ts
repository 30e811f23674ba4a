import { Refusal } from '../shared/refusal.js';
import type { ProgramSpec } from './contract.js';

/** The kernel's maximum length of an argument or a variable (MAX_ARG_STRLEN). */
const MAX_STRING = 131_072;

/**
 * Refuses arguments that cannot be passed to a program. Options reach bubblewrap separated by zero bytes, so a value with
 * a zero byte could add options.
 */
export function checkProgram({
  argv,
  env,
  workDir,
  readOnly,
  files = [],
  workInside = '/work',
  cwd = workInside,
}: ProgramSpec): void {
  const mounts = [...readOnly.flatMap(({ host, inside }) => [host, inside]), ...files.map(({ inside }) => inside)];
  for (const text of [...argv, ...Object.values(env), ...mounts, workDir, workInside, cwd]) {
    if (text.includes('\0')) throw new Refusal('malformed', 'an argument or a variable holds a zero byte');
  }
  const long = [...argv, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
  if (long.some((text) => Buffer.byteLength(text) >= MAX_STRING)) {
    throw new Refusal('malformed', 'an argument or a variable is over 128 KiB: hand it over in a file');
  }
  for (const name of Object.keys(env)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw new Refusal('malformed', `"${name}" cannot be a variable's name`);
  }
  // Programs could redirect a mount point that they can change.
  const isWithin = ({ inside }: { readonly inside: string }) => `${inside}/`.startsWith(`${workInside}/`);
  if ([...readOnly, ...files].some(isWithin)) {
    throw new Error(`a read-only folder cannot be shown under ${workInside}`);
  }
}
