import { chmod, mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { removeFolder } from '../../src/sandbox/index.js';
import { createTestSandbox } from '../support/test-sandbox.js';

test('security 22: a program sees no variable of the worker and no credential', async () => {
  process.env.SIGNALBOX_CANARY = 'canary-of-the-worker';
  onTestFinished(() => {
    delete process.env.SIGNALBOX_CANARY;
  });
  const { bash } = await createTestSandbox();
  const { stdout } = await bash('env; cat /proc/*/environ 2>/dev/null | tr "\\0" "\\n"', { env: { GIVEN: 'yes' } });
  expect(stdout).toContain('GIVEN=yes');
  expect(stdout).not.toContain('canary');
  const names = new Set([...stdout.matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name));
  expect([...names].sort()).toEqual(['GIVEN', 'HOME', 'LANG', 'PATH', 'PWD', 'SHLVL', 'TERM', 'TMPDIR', '_'].sort());
});

test('security 22: a secret in the environment is on no command line of the host', async () => {
  const { bash } = await createTestSandbox();
  const cmdlines = async () => {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    return Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  };
  const controller = new AbortController();
  const started = deferred();
  const running = bash('echo on; sleep 1000', {
    env: { TOKEN: 'canary-token-4711' },
    signal: controller.signal,
    onOutput: () => started.resolve(),
  });
  await started.promise;
  expect((await cmdlines()).join('\n')).not.toContain('canary-token-4711');
  controller.abort();
  expect((await running).killed).toBe('stopped');
});

test('security 22: a program sees its own processes and no other', async () => {
  const { bash } = await createTestSandbox();
  const { stdout } = await bash('for p in /proc/[0-9]*; do tr "\\0" " " < $p/cmdline; echo; done; echo pid $$');
  expect(stdout).not.toMatch(/vitest|postgres|node /);
  expect(Number(/pid (\d+)/.exec(stdout)?.[1])).toBeLessThan(20);
});

test('security 22: there is no network, not even to the host itself', async () => {
  const server = createServer((_request, response) => response.end('reached'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const { bash } = await createTestSandbox();
  const program = `
import socket
print([name for _, name in socket.if_nameindex()])
for host, port in [("127.0.0.1", ${port}), ("1.1.1.1", 53), ("169.254.169.254", 80)]:
    try:
        socket.create_connection((host, port), 1); print("reached", host)
    except OSError as error:
        print(host, error.strerror or error)
`;
  const { stdout } = await bash('python3 -c "$PROGRAM"', { env: { PROGRAM: program } });
  expect(stdout).toContain("['lo']");
  expect(stdout).not.toContain('reached');
});

test('security 22: the system is read-only, and only /work, /tmp and /dev/shm can be written', async () => {
  const { bash } = await createTestSandbox();
  const { stdout } = await bash(
    'for d in / /usr /usr/bin /etc /dev /proc /workspace /work /tmp /dev/shm; do touch $d/x 2>/dev/null && echo "wrote $d"; done; true',
  );
  expect(stdout.trim().split('\n')).toEqual(['wrote /work', 'wrote /tmp', 'wrote /dev/shm']);
});

test('security 22: no file of the host is there: not its accounts, its homes, its data folder, its sockets', async () => {
  const { bash, dataDir } = await createTestSandbox();
  await writeFile(join(dataDir, 'install-keys'), 'canary-key');
  const { stdout } = await bash(
    `for f in /etc/shadow /root /home /var /run /srv /mnt /opt /sys /boot ${dataDir}/install-keys ${dataDir} /etc/ssh /etc/hostname; do ls -d $f 2>/dev/null; done; cat /etc/passwd; hostname`,
  );
  expect(stdout.split('\n').filter((line) => line.startsWith('/'))).toEqual([]);
  expect(stdout).toBe('root:x:0:0:root:/:/usr/sbin/nologin\nnobody:x:65534:65534:nobody:/tmp:/bin/bash\nsandbox\n');
});

test('security 22: a program is nobody, without a capability, and cannot make namespaces of its own', async () => {
  const { bash } = await createTestSandbox();
  const { stdout } = await bash(
    'id -u; grep -E "Cap(Eff|Prm)|NoNewPrivs" /proc/self/status; unshare -U true 2>&1; unshare -m true 2>&1; mount -t tmpfs x /tmp 2>&1; kill -0 -1 2>&1; true',
  );
  expect(stdout).toMatch(/^65534\nCapPrm:\t0+\nCapEff:\t0+\nNoNewPrivs:\t1\n/);
  expect(stdout.match(/unshare failed/g)).toHaveLength(2);
});

test('security 22: a program has no terminal and no descriptor but the three', async () => {
  const { bash } = await createTestSandbox();
  const { stdout } = await bash('ls /proc/$$/fd; : < /dev/tty 2>&1 || echo no terminal');
  expect(stdout).toMatch(/^0\n1\n2\n/);
  expect(stdout).toContain('no terminal');
});

test('security 22: however many files a program is given, it has them, its two outputs apart, and no descriptor more', async () => {
  const { bash } = await createTestSandbox();
  for (let many = 0; many <= 8; many += 1) {
    const files = Array.from({ length: many }, (_, n) => ({ inside: `/run/given/${n}`, content: `file ${n}` }));
    const show =
      'cat /run/given/* 2>/dev/null; for fd in 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do [ ! -e /proc/$$/fd/$fd ] || echo $fd; done';
    const { stdout, stderr } = await bash(`${show}; echo to the other >&2`, { files });
    expect({ stdout, stderr }).toEqual({
      stdout: files.map(({ content }) => content).join(''),
      stderr: 'to the other\n',
    });
  }
});

test('security 22: a value with a zero byte cannot add options to the sandbox', async () => {
  const { bash } = await createTestSandbox();
  await expect(bash('true', { env: { X: 'a\0--bind\0/\0/host' } })).rejects.toThrow('zero byte');
  await expect(bash('true', { env: { 'X\0Y': 'a' } })).rejects.toThrow("cannot be a variable's name");
  await expect(bash('true', { cwd: '/work\0--share-net' })).rejects.toThrow('zero byte');
});

test('read-only folders are shown and cannot be changed, and never lie where programs write', async () => {
  const { bash, dataDir } = await createTestSandbox();
  const shown = join(dataDir, 'scratch', 'shown');
  await mkdir(shown, { mode: 0o755 });
  await writeFile(join(shown, 'rules.md'), 'be kind', { mode: 0o644 });
  const readOnly = [{ host: shown, inside: '/workspace' }];
  const { stdout } = await bash(
    'cat /workspace/rules.md; echo x > /workspace/rules.md || echo refused; rm /workspace/rules.md 2>&1',
    {
      readOnly,
    },
  );
  expect(stdout).toContain('be kindrefused');
  expect(await readFile(join(shown, 'rules.md'), 'utf8')).toBe('be kind');
  await expect(bash('true', { readOnly: [{ host: shown, inside: '/work/knowledge' }] })).rejects.toThrow('under /work');
});

test('standard input, output and error can be opened by their names in /dev', async () => {
  const { bash } = await createTestSandbox();
  const { stdout, stderr } = await bash(
    `node -e 'process.stdout.write(require("fs").readFileSync("/dev/stdin", "utf8"))'; echo out > /dev/stdout; echo err > /dev/stderr`,
    { stdin: 'hello\n' },
  );
  expect({ stdout, stderr }).toEqual({ stdout: 'hello\nout\n', stderr: 'err\n' });
});

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

test.runIf(process.getuid?.() === 0)(
  'security 22: a data folder below what every program sees is hidden from it',
  async () => {
    const parent = await mkdtemp('/usr/local/signalbox-');
    onTestFinished(() => removeFolder(parent));
    await chmod(parent, 0o755);
    const { bash, dataDir } = await createTestSandbox({ parent });
    await writeFile(join(dataDir, 'install.key'), 'canary-install-key', { mode: 0o644 });
    const { stdout } = await bash(`ls -A ${dataDir}; cat ${dataDir}/install.key; echo x > /work/y; cat /work/y`);
    expect(stdout).toBe('x\n');
  },
);
