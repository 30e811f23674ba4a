import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Killed } from '../../src/sandbox/index.js';
import { createTestApp } from '../support/create-test-app.js';
import { givenSecrets } from '../support/given-secrets.js';
import { processesWith } from '../support/host-processes.js';
import { sendWithRetry } from '../support/send-with-retry.js';
import { createTestSandbox } from '../support/test-sandbox.js';
import { createToolLane } from '../support/tool-lane.js';

const MIB = 1_048_576;

/** Each breaks one limit and no other, and would run for a long time if nobody ended it. */
const HOGS: readonly { readonly name: string; readonly killed: Killed; readonly why: RegExp; readonly code: string }[] =
  [
    {
      name: 'memory over several processes',
      killed: 'memory',
      why: /^killed: used more than 100 MiB of memory$/,
      code: 'import os, time\nfor _ in range(3): os.fork()\nblock = bytearray(b"x") * (30 << 20)\ntime.sleep(60)',
    },
    {
      name: 'memory in shared mappings',
      killed: 'memory',
      why: /100 MiB of memory/,
      code: 'import mmap, time\nkept = []\nwhile True:\n  m = mmap.mmap(-1, 10 << 20); m.write(b"x" * (10 << 20)); kept.append(m); time.sleep(0.02)',
    },
    {
      name: 'memory in the buffers of sockets',
      killed: 'memory',
      why: /100 MiB of memory/,
      code: `
import os, socket, time
kept = []
for _ in range(3): os.fork()
for _ in range(200):
    a, b = socket.socketpair(); a.setblocking(False); kept += [a, b]
    try:
        while True: a.send(b"x" * 4096)
    except BlockingIOError: pass
time.sleep(60)`,
    },
    {
      name: 'a sparse file that is filled',
      killed: 'disk',
      why: /^killed: used more than 50 MiB of disk in the work folder$/,
      code: 'import time\nfor n in range(4):\n  f = open(f"f{n}", "wb"); f.truncate(30 << 20); f.seek(0); f.write(b"x" * (20 << 20)); f.flush()\ntime.sleep(60)',
    },
    {
      name: 'a million small files',
      killed: 'files',
      why: /^killed: left more than 500 files and folders in the work folder$/,
      code: 'import time\nfor n in range(1000000): open(f"f{n}", "w").close()\ntime.sleep(60)',
    },
    {
      name: 'a terabyte in one file',
      killed: 'file-size',
      why: /^killed: wrote a file of more than 40 MiB$/,
      code: 'import os, signal, time\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nos.truncate(os.open("big", os.O_CREAT | os.O_RDWR), 1 << 40)\ntime.sleep(60)',
    },
    {
      name: 'yes',
      killed: 'output',
      why: /^killed: wrote more than 1 MiB of output; write to a file/,
      code: 'import os\nos.execvp("yes", ["yes"])',
    },
    {
      name: 'files sent to a process that never receives them',
      killed: 'in-flight',
      why: /in flight between its processes/,
      code: `
import array, os, socket, time
a, b = socket.socketpair()
for n in range(3):
    file = os.memfd_create("x"); os.write(file, b"x" * (10 << 20))
    a.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))]); os.close(file)
time.sleep(60)`,
    },
    {
      name: 'sleep for ever, deaf to SIGTERM and with its output closed',
      killed: 'timeout',
      why: /^it was stopped after 4 s: its time was up$/,
      code: 'import os, signal, time\nfor s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\nos.close(1); os.close(2); time.sleep(1000)',
    },
  ];

test.each(HOGS)('security 22: $name ends as $killed, in words that name the limit', async ({ killed, why, code }) => {
  const { bash } = await createTestSandbox({
    limits: { memory: 100 * MIB, work: 50 * MIB, workFiles: 500, file: 40 * MIB, output: MIB, processes: 60 },
  });
  const result = await bash('', { argv: ['python3', '-c', code], timeoutMs: killed === 'timeout' ? 4_000 : 30_000 });
  expect(result).toMatchObject({ killed, exitCode: null });
  expect(result.why).toMatch(why);
});

test('security 22: a daemon that a program leaves behind ends with it, however far it has gone', async () => {
  const { bash } = await createTestSandbox();
  const mark = `94${Date.now()}`;
  const code = `
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in range(3): os.close(fd)
        os.execvp("sleep", ["sleep", "${mark}"])
    os._exit(0)
os.wait(); print("gone")`;
  expect(await bash('', { argv: ['python3', '-c', code] })).toMatchObject({ exitCode: 0, stdout: 'gone\n' });
  expect(processesWith(mark)).toEqual([]);
});

test.each([
  ['import sys; bytearray(1 << 40)', /may use 1 GiB of memory at most/],
  ['open("big", "wb").truncate(1 << 40)', /one file may hold 512 MiB at most/],
  ['open("/dev/shm/x", "wb").write(b"x" * (80 << 20))', /\/tmp holds 256 MiB at most and \/dev\/shm 64 MiB/],
  ['kept = [open("/dev/null") for _ in range(2000)]', /1024 files open at most/],
] as const)('a program that failed at a limit by itself is told which: %s', async (code, why) => {
  const { bash } = await createTestSandbox();
  const result = await bash('', { argv: ['python3', '-c', code] });
  expect(result).toMatchObject({ killed: null, exitCode: 1 });
  expect(result.why).toMatch(why);
});

test('security 22: files that are sent and received are no offence, however many', async () => {
  const { bash } = await createTestSandbox();
  const code = `
import array, os, socket, time
a, b = socket.socketpair()
end = time.monotonic() + 4
while time.monotonic() < end:
    file = os.open("/dev/null", os.O_RDONLY)
    socket.send_fds(a, [b"."], [file]); os.close(file)
    _, fds, _, _ = socket.recv_fds(b, 1, 1); os.close(fds[0])
print("done")`;
  expect(await bash('', { argv: ['python3', '-c', code] })).toMatchObject({ killed: null, stdout: 'done\n' });
});

test('security 22: the API answers while programs hog what they can', async () => {
  const { bash } = await createTestSandbox();
  const { get } = await createTestApp();
  const stop = new AbortController();
  const hogs = [
    'for i in $(seq 40); do (while :; do :; done) & done; wait',
    'for i in 1 2 3; do python3 -c "b = bytearray(b\'x\') * (250 << 20); import time; time.sleep(60)" & done; wait',
    'mkdir d; cd d; for i in $(seq 80000); do : > f$i; done; sleep 60',
    'while :; do dd if=/dev/zero of=big bs=1M count=300 status=none; done',
  ];
  // Connections to the register are made before the hogs take the machine: one has 1.5 s to be made.
  await Promise.all(hogs.map(() => bash('true')));
  const started = hogs.map(
    (hog) =>
      new Promise<Promise<unknown>>((begun, failed) => {
        const running: Promise<unknown> = bash(`echo begun; ${hog}`, {
          signal: stop.signal,
          timeoutMs: null,
          onOutput: () => begun(running),
        });
        // One that never came so far says why, and is not waited for.
        running.then(() => begun(running), failed);
      }),
  );
  const all = Promise.all(started.map(async (hog) => await hog));
  const answers: number[] = [];
  for (let asked = 0; asked < 20; asked += 1) {
    answers.push((await sendWithRetry(() => get('/api/me'))).status);
  }
  stop.abort();
  await all;
  expect(answers).toEqual(Array(20).fill(200));
});

test('security 23: whatever a program leaves under outputs/, only regular files are kept, and the folder goes with the run', async () => {
  const lane = await createToolLane();
  const secrets = givenSecrets({ TOKEN: 'canary-value-4711' });
  const left = await lane.call(
    'Bash',
    {
      command: [
        'cd outputs; echo one > a.txt; ln a.txt twin.txt; ln /etc/passwd host.txt 2>/dev/null; mknod device c 1 3 2>/dev/null',
        'echo key > .env; echo key > id_rsa; ln -s /etc/passwd link; mkfifo pipe',
        'touch "$(printf "n%.0s" $(seq 255))"; mkdir -p "$(printf "deep/%.0s" $(seq 40))" && touch "$(printf "deep/%.0s" $(seq 40))bottom"',
        'echo x > canary-value-4711.txt; for i in $(seq 150); do ln -s x ../files/l$i; done',
      ].join('\n'),
    },
    { secrets },
  );
  expect(left.text).toBe('(no output)');
  const ignored: { path: string; why: string }[] = [];
  const { keepStep } = await import('../../src/tools/index.js');
  const kept = await keepStep(lane.deps, { ...lane.context, secrets }, (path, why) => ignored.push({ path, why }));
  const names = kept.map(({ path }) => path.replace('outputs/writer/', '')).sort();
  expect(names).toEqual(['.env', 'a.txt', '[secret TOKEN].txt', 'id_rsa', 'n'.repeat(255), 'twin.txt'].sort());
  expect(ignored).toContainEqual({ path: 'outputs/pipe', why: 'it is not a regular file' });
  expect(ignored.some(({ why }) => why.includes('deep'))).toBe(true);
  expect(ignored.length).toBe(101);
  const { dropLane } = await import('../../src/tools/index.js');
  await dropLane(lane.deps, lane.context.run.id);
  expect(await readdir(join(lane.deps.config.dataDir, 'scratch'))).not.toContain(lane.context.run.id);
});
