import { getPriority } from 'node:os';
import { expect, test } from 'vitest';
import { seccompFilter } from '../../src/sandbox/seccomp.js';
import { createTestSandbox } from '../support/test-sandbox.js';

const NUMBERS = {
  x64: { keyctl: 250, add_key: 248, perf_event_open: 298, bpf: 321, userfaultfd: 323, setns: 308, msgget: 68 },
  arm64: { keyctl: 219, add_key: 217, perf_event_open: 241, bpf: 280, userfaultfd: 282, setns: 268, msgget: 186 },
} as const;
const numbers = process.arch === 'arm64' ? NUMBERS.arm64 : NUMBERS.x64;

/** Prints the errno of each system call, 0 when it went through. */
const CALL = `
import ctypes, json, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    ctypes.set_errno(0)
    return ctypes.get_errno() if libc.syscall(*[ctypes.c_long(a) for a in args]) < 0 else 0
`;

test.runIf(process.platform === 'linux')(
  'security 22: keys, bpf, perf, userfaultfd, io_uring and other doors of the kernel are shut',
  async () => {
    const { bash } = await createTestSandbox();
    const calls = { ...numbers, io_uring_setup: 425, memfd_secret: 447, fsopen: 430 };
    const code = `${CALL}
print(json.dumps({name: call(number, 0, 0, 0, 0, 0) for name, number in json.loads(sys.argv[1]).items()}))`;
    const { stdout, stderr } = await bash('', { argv: ['python3', '-c', code, JSON.stringify(calls)] });
    expect(stderr).toBe('');
    const [EPERM, ENOSYS] = [1, 38];
    expect(JSON.parse(stdout)).toEqual({
      ...Object.fromEntries(Object.keys(calls).map((name) => [name, EPERM])),
      io_uring_setup: ENOSYS,
      msgget: ENOSYS,
    });
  },
);

test('security 22: of all socket families a program has Unix, the internet and netlink; vsock, Bluetooth and others are none', async () => {
  const { bash } = await createTestSandbox();
  const code = `
import json, socket
def opens(family, kind=socket.SOCK_STREAM):
    try: socket.socket(family, kind).close(); return 0
    except OSError as error: return error.errno
refused = [opens(family) for family in range(1, 46) if family not in (1, 2, 10, 16)]
print(json.dumps([refused, opens(1), opens(2), opens(10), opens(16, socket.SOCK_RAW)]))
# The kernel reads a family's low half alone.
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(ctypes.c_long(${process.arch === 'arm64' ? 198 : 41}), ctypes.c_ulong(0x100000028), ctypes.c_long(1), ctypes.c_long(0))
print(ctypes.get_errno())`;
  const { stdout } = await bash('', { argv: ['python3', '-c', code] });
  const EAFNOSUPPORT = 97;
  const [line = '', high] = stdout.trim().split('\n');
  expect(JSON.parse(line)).toEqual([Array(41).fill(EAFNOSUPPORT), 0, 0, 0, 0]);
  expect(Number(high)).toBe(EAFNOSUPPORT);
});

test('security 22: shared segments and semaphores that no process would be charged for are small', async () => {
  const { bash } = await createTestSandbox();
  const code = `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def make(what, size):
    ctypes.set_errno(0)
    return 0 if what(0, ctypes.c_size_t(size), 0o600) >= 0 else ctypes.get_errno()
print(make(libc.shmget, 65536), make(libc.shmget, 65537), make(libc.shmget, (1 << 32) + 1), make(libc.semget, 64), make(libc.semget, 65))`;
  const { stdout, stderr } = await bash('', { argv: ['python3', '-c', code] });
  expect(stderr).toBe('');
  expect(stdout).toBe('0 28 28 0 28\n');
});

test('bash, Python, Node, git, pipes, threads and child processes run as ever behind the filter', async () => {
  const { bash } = await createTestSandbox();
  const { stdout, stderr, exitCode } = await bash(
    [
      'set -e',
      "python3 -c \"import subprocess, threading, multiprocessing as m; t = threading.Thread(target=print, args=(1,)); t.start(); t.join(); print(m.Pool(2).map(abs, [-2, -3]), flush=True); subprocess.run(['echo', 'child'])\"",
      `node -e "const c = require('child_process'); new (require('worker_threads').Worker)('require(\\'fs\\').writeFileSync(\\'/tmp/w\\', \\'worker\\')', { eval: true }).on('exit', () => console.log(require('fs').readFileSync('/tmp/w', 'utf8'), c.execSync('echo from-node').toString().trim()))"`,
      `node -e "const s = require('net').createServer((c) => c.end('over tcp')).listen(0, '127.0.0.1', () => require('net').connect(s.address().port).on('data', (d) => { console.log(String(d)); s.close(); }))"`,
      'git init -q repo && cd repo && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first && git log --format=%s',
      'seq 3 | sort -r | tr "\\n" " "',
    ].join('\n'),
  );
  expect(stderr).toBe('');
  expect(stdout).toBe('1\n[2, 3]\nchild\nworker from-node\nover tcp\nfirst\n3 2 1 ');
  expect(exitCode).toBe(0);
});

test('the filter is made for the CPUs whose numbers are known, and for no other', () => {
  for (const cpu of ['x64', 'arm64']) {
    const filter = seccompFilter(cpu);
    // As many instructions as the kernel takes (BPF_MAXINSNS), and the last allows what nothing refused.
    expect((filter?.length ?? 0) / 8).toBeLessThan(4096);
    expect([...(filter ?? []).slice(-8)]).toEqual([6, 0, 0, 0, 0, 0, 0xff, 0x7f]);
  }
  expect(seccompFilter('s390x')).toBeNull();
});

test('the host’s memory killer and its scheduler take programs before the worker', async () => {
  const { bash } = await createTestSandbox();
  // As low as it goes, where the tests themselves were begun lower.
  const nice = Math.min(19, getPriority() + 10);
  expect((await bash('cat /proc/self/oom_score_adj; nice')).stdout).toBe(`1000\n${nice}\n`);
});
