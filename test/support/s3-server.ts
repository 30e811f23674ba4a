import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import type { Config } from '../../src/platform/config/index.js';
import { newId } from '../../src/shared/ids.js';

const MODULE = 'github.com/versity/versitygw/cmd/versitygw@v1.8.0';

/** A real S3 server over a folder of its own, without buckets; it ends with the test. */
export async function startS3(): Promise<Exclude<Config['s3'], null>> {
  const program = await versitygw();
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-s3-'));
  const port = await freePort();
  const keys = { accessKey: 'test-access', secretKey: `test-${newId()}` };
  const child = spawn(program, ['--port', `127.0.0.1:${port}`, 'posix', folder], {
    env: { PATH: process.env.PATH, ROOT_ACCESS_KEY: keys.accessKey, ROOT_SECRET_KEY: keys.secretKey },
    stdio: 'ignore',
  });
  onTestFinished(async () => {
    const ended = child.exitCode === null ? once(child, 'exit') : null;
    child.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  });
  const endpoint = `http://127.0.0.1:${port}`;
  await untilAnswers(endpoint, () => child.exitCode !== null);
  return { endpoint, bucket: `b-${newId()}`, region: 'us-east-1', ...keys };
}

/** The program from the cache, built into it the first time: two minutes. */
async function versitygw(): Promise<string> {
  const bin = join(homedir(), '.cache', 'signalbox', 'bin');
  const program = join(bin, 'versitygw');
  if (existsSync(program)) return program;
  process.stderr.write(`building versitygw, the S3 server of the tests, into ${bin}: about two minutes\n`);
  await mkdir(bin, { recursive: true });
  const env = { ...process.env, CGO_ENABLED: '0', GOBIN: bin };
  await promisify(execFile)('go', ['install', MODULE], { env }).catch((error: unknown) => {
    throw new Error(`the S3 tests need versitygw: install Go, or put the program at ${program}`, { cause: error });
  });
  return program;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function untilAnswers(url: string, isOver: () => boolean): Promise<void> {
  for (;;) {
    if (isOver()) throw new Error('versitygw ended before it answered');
    const answer = await fetch(url).catch(() => null);
    if (answer) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
