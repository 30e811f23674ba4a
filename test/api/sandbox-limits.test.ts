import { access, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { processesWith } from '../support/host-processes.js';
import { createTestSandbox, registered } from '../support/test-sandbox.js';

const MIB = 1_048_576;

const COUNT_FORKS = `
import os, sys, time
count = 0
try:
    while count < 500:
        if os.fork() == 0: time.sleep(30); os._exit(0)
        count += 1
except BlockingIOError: print("refused", flush=True)
time.sleep(0.5 if count < 500 else 20); print(count); sys.stdout.flush(); os.kill(-1, 9)
`;

test('security 22: a fork bomb is held to its number of processes, and nothing of it survives', async () => {
  const { bash } = await createTestSandbox({ limits: { processes: 40 } });
  const counted = await bash(COUNT_FORKS, { argv: ['python3', '-c', COUNT_FORKS] });
  // The kernel refuses the forty-first; where it does not (a root worker in a private folder) the watchdog kills.
  if (counted.killed === null) expect(Number(/refused\n(\d+)/.exec(counted.stdout)?.[1])).toBeLessThan(41);
  else expect(counted.killed).toBe('processes');
  const mark = `97${Date.now()}`;
  const bomb = await bash(`bomb() { sleep ${mark} & bomb & bomb & }; bomb; sleep 30`, { timeoutMs: 1_500 });
  expect(['timeout', 'processes']).toContain(bomb.killed);
  expect(processesWith(mark)).toEqual([]);
});

test.runIf(process.getuid?.() === 0)(
  'security 22: where a root worker has to run programs as root, the watchdog kills a fork bomb',
  async () => {
    const closed = await mkdtemp(join(tmpdir(), 'signalbox-closed-'));
    const { bash, sandbox } = await createTestSandbox({ limits: { processes: 40 }, parent: closed });
    expect(sandbox).toMatchObject({ driver: 'bubblewrap', reason: null });
    expect(sandbox.uid).toBeUndefined();
    expect(await bash(COUNT_FORKS, { argv: ['python3', '-c', COUNT_FORKS] })).toMatchObject({ killed: 'processes' });
  },
);

test('security 22: private memory over the limit fails in the program', async () => {
  const { bash } = await createTestSandbox({ limits: { memory: 200 * MIB } });
  const { stdout } = await bash(`python3 -c '
try: bytearray(${400 * MIB}); print("got it")
except MemoryError: print("no memory")'`);
  expect(stdout).toBe('no memory\n');
});

test('security 22: a memory hog that shares, or spreads over processes, is killed', async () => {
  const { bash } = await createTestSandbox({ limits: { memory: 200 * MIB } });
  const shared = await bash(`python3 -c '
import mmap, time
kept = []
while True:
    block = mmap.mmap(-1, 20 << 20); block.write(b"x" * (20 << 20)); kept.append(block); time.sleep(0.02)'`);
  expect(shared.killed).toBe('memory');
  const spread = await bash(`for i in 1 2 3 4; do python3 -c '
import time
block = bytearray(b"x") * (80 << 20)
time.sleep(30)' & done; wait`);
  expect(spread.killed).toBe('memory');
});

test('security 22: a disk filler is killed, also when its files are deleted or of many names', async () => {
  const { bash } = await createTestSandbox({ limits: { work: 50 * MIB, file: 30 * MIB, workFiles: 500 } });
  const plain = await bash('for i in $(seq 10); do head -c 20M /dev/zero > big$i; done; sleep 20');
  expect(plain.killed).toBe('disk');
  const deleted = await bash(`rm -f big*; python3 -c '
import os, time
kept = []
for i in range(4):
    f = open("gone", "wb"); os.unlink("gone"); f.write(b"x" * (20 << 20)); f.flush(); kept.append(f)
time.sleep(20)'`);
  expect(deleted.killed).toBe('disk');
  const many = await bash('mkdir -p d && cd d && for i in $(seq 2000); do : > f$i; done; sleep 20');
  expect(many.killed).toBe('files');
});

test('security 22: one file, /tmp and /dev/shm have their size, and a sparse file counts what it holds', async () => {
  const { bash } = await createTestSandbox({ limits: { file: 5 * MIB, tmp: 2 * MIB, shm: MIB, work: 50 * MIB } });
  const { stdout, killed } = await bash(
    'head -c 20M /dev/zero > big 2>/dev/null; stat -c %s big; head -c 20M /dev/zero > /tmp/big; stat -c %s /tmp/big; head -c 20M /dev/zero > /dev/shm/big; stat -c %s /dev/shm/big; truncate -s 5M sparse; sleep 1; echo alive',
  );
  expect(killed).toBeNull();
  expect(stdout).toBe(`${5 * MIB}\n${2 * MIB}\n${MIB}\nalive\n`);
});

test('security 22: an output flood is killed, and output is kept from its beginning and its end', async () => {
  const { bash } = await createTestSandbox();
  const flood = await bash('echo begin; yes');
  expect(flood).toMatchObject({ killed: 'output', exitCode: null, truncated: true });
  expect(flood.stdout.length).toBeLessThan(1.1 * MIB);
  const long = await bash('echo begin; head -c 3000000 /dev/zero | tr "\\0" x; echo end');
  expect(long).toMatchObject({ killed: null, exitCode: 0, truncated: true });
  expect(long.stdout).toMatch(/^begin\nx+\n\[… \d+ bytes left out …\]\nx+end\n$/);
});

test('security 22: a program that takes too long is ended with all that it started, and its row is gone', async () => {
  const { bash, runId } = await createTestSandbox();
  const mark = `99${Date.now()}`;
  const result = await bash(`setsid sleep ${mark} & (sleep ${mark} &) ; trap "" TERM INT HUP; sleep ${mark}`, {
    timeoutMs: 300,
  });
  expect(result).toMatchObject({ killed: 'timeout', exitCode: null });
  expect(processesWith(mark)).toEqual([]);
  expect(await registered(runId)).toEqual([]);
});

test('what a program leaves running in the background ends with it', async () => {
  const { bash, runId } = await createTestSandbox();
  const mark = `98${Date.now()}`;
  const result = await bash(`setsid sleep ${mark} & (sleep ${mark} &) ; echo started`);
  expect(result).toMatchObject({ exitCode: 0, killed: null, stdout: 'started\n' });
  expect(processesWith(mark)).toEqual([]);
  expect(await registered(runId)).toEqual([]);
});

/** Enters a hundred folders, each in the one before: further down than a path can be long. */
const GO_DEEP = `
import os
for _ in range(100):
    os.mkdir("d" * 200); os.chdir("d" * 200)
`;

test('security 22: a work folder that cannot be measured to its end is over its limit', async () => {
  const { bash } = await createTestSandbox();
  const code = `${GO_DEEP}import time; time.sleep(15)`;
  expect(await bash(code, { argv: ['python3', '-c', code] })).toMatchObject({ killed: 'disk' });
});

test('folders nested deeper than a path can be long are removed with their run, and keep no worker from its start', async () => {
  const { bash, sandbox, dataDir, runId } = await createTestSandbox();
  await bash(GO_DEEP, { argv: ['python3', '-c', GO_DEEP] });
  await sandbox.reap();
  await expect(access(join(dataDir, 'scratch', runId))).rejects.toThrow('ENOENT');
});

test('security 22: a program with all the processes it may have takes none from another', async () => {
  const { bash } = await createTestSandbox({ limits: { processes: 40 } });
  const code = `
import os, time
for _ in range(30):
    if os.fork() == 0: time.sleep(20); os._exit(0)
print("full", flush=True); time.sleep(20)`;
  const stop = new AbortController();
  let hogging: ReturnType<typeof bash> | undefined;
  await new Promise<void>((isFull) => {
    hogging = bash(code, { argv: ['python3', '-c', code], signal: stop.signal, onOutput: () => isFull() });
  });
  const other = await bash('for i in $(seq 30); do sleep 0.2 & done; wait; echo done');
  stop.abort();
  expect(other).toMatchObject({ exitCode: 0, stdout: 'done\n', stderr: '' });
  expect((await hogging)?.killed).toBe('stopped');
});

test('security 22: memory files count while they live by nothing but an untouched mapping', async () => {
  const { bash } = await createTestSandbox({ limits: { memory: 100 * MIB, work: 100 * MIB } });
  const code = `
import ctypes, os, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
for _ in range(5):
    file = os.memfd_create("x")
    for _ in range(40): os.write(file, b"x" * (1 << 20))
    libc.mmap(None, 40 << 20, 1, 1, file, 0); os.close(file)
time.sleep(15)`;
  expect(await bash(code, { argv: ['python3', '-c', code] })).toMatchObject({ killed: 'disk' });
});
