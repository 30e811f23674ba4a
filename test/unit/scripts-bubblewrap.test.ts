import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runChild } from '../../scripts/lib/run-child.mjs';

const module = new URL('../../scripts/setup/bubblewrap.mjs', import.meta.url).href;
let bin: string;
beforeEach(() => {
  bin = mkdtempSync(join(tmpdir(), 'signalbox-bin-'));
});
afterEach(() => rmSync(bin, { recursive: true, force: true }));

/** A machine whose PATH is one folder. The set-up runs in a process of its own, as the user and on the system named. */
async function getBubblewrap({ uid = 0, platform = 'linux', env = {} } = {}): Promise<string> {
  const script = `
    process.getuid = () => ${uid};
    Object.defineProperty(process, 'platform', { value: ${JSON.stringify(platform)} });
    await (await import(${JSON.stringify(module)})).getBubblewrap();`;
  const options = { env: { PATH: bin, SERVICE_SANDBOX: undefined, SERVICE_ROLE: undefined, ...env } };
  const { code, output } = await runChild(process.execPath, ['--input-type=module', '-e', script], options);
  expect(code).toBe(0);
  return output;
}
const program = (name: string, body: string) => writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
const calls = () => readFileSync(join(bin, 'calls'), 'utf8').trim().split('\n');
const recording = `echo "$*" >> "$(/usr/bin/dirname "$0")/calls"`;

test('as root bubblewrap is installed by the package manager that is there', async () => {
  program('apt-get', `${recording}\ncase "$*" in install*) /bin/cp "$0" "$(/usr/bin/dirname "$0")/bwrap";; esac`);
  expect(await getBubblewrap()).toContain('✓ installing bubblewrap (apt-get)');
  expect(calls()).toEqual([expect.stringMatching(/update$/), 'install -y --no-install-recommends bubblewrap']);
  expect(await getBubblewrap()).toBe('');
});

test('a package list that cannot be refreshed does not keep an installable package away', async () => {
  program('apt-get', `case "$*" in install*) /bin/cp "$0" "$(/usr/bin/dirname "$0")/bwrap";; *) exit 100;; esac`);
  expect(await getBubblewrap()).not.toContain('could not be installed');
});

test('an install that fails is no reason not to start: it says what failed and the command to try', async () => {
  program('dnf', 'echo "no route to host"; exit 1');
  const output = await getBubblewrap();
  expect(output).toContain('no route to host');
  expect(output).toContain('do it by hand: dnf install bubblewrap');
  expect(output).toContain('programs (Bash, script tools) are refused; all else works');
});

test('as another user nothing is installed and the exact command is printed', async () => {
  program('apt-get', recording);
  expect(await getBubblewrap({ uid: 1000 })).toContain('sudo apt-get install --no-install-recommends bubblewrap');
  expect(calls).toThrow(/ENOENT/);
});

test('on macOS it says that programs are refused and how to run them without isolation', async () => {
  expect(await getBubblewrap({ platform: 'darwin' })).toMatch(/refused; all else works.*SERVICE_SANDBOX=none/s);
});

test.each([{ SERVICE_SANDBOX: 'none' }, { SERVICE_ROLE: 'api' }])(
  'with %o no program runs in bubblewrap, and there is nothing to say',
  async (env) => {
    expect(await getBubblewrap({ env })).toBe('');
  },
);
