import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createLog } from '../../src/api/log.js';
import { repositoryFolder } from '../../src/git/index.js';
import { createRemoteApp, git, type RemoteApp, runGit } from '../support/git-remote.js';

const NONE = '0'.repeat(40);
const pkt = (text: string): string => `${(text.length + 4).toString(16).padStart(4, '0')}${text}`;
const COMMAND = pkt(`${NONE} ${'1'.repeat(40)} refs/heads/x\0report-status`);
const PACK_BEGINS = `${COMMAND}0000PACK\0\0\0\x02\0\0\0\x05abc`;

let app: RemoteApp;
let lines: { readonly level: string; readonly msg: string; readonly status?: number }[];
beforeEach(async () => {
  lines = [];
  const log = createLog('debug', { write: (line) => void lines.push(JSON.parse(line)) });
  app = await createRemoteApp({ deps: { log } });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A client that sends so much of a request, and then nothing; answers what it is told. */
async function stall(path: string, sent: string): Promise<{ readonly read: () => string }> {
  const socket = connect(Number(new URL(app.base).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  let read = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    read += text;
  });
  const authorization = `Basic ${Buffer.from(`x:${app.key}`).toString('base64')}`;
  socket.write(
    `POST /git/${app.tenant}/${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nExpect: 100-continue\r\nContent-Length: 100000\r\n\r\n`,
  );
  await expect.poll(() => read).toContain('100 Continue');
  socket.write(Buffer.from(sent, 'latin1'));
  return { read: () => read.replace(/^HTTP\/1.1 100 Continue\r\n\r\n/, '') };
}

test.each([
  ['a push that has sent nothing', 'git-receive-pack', ''],
  ['a push amid its refs', 'git-receive-pack', COMMAND.slice(0, 20)],
  ['a push amid its pack', 'git-receive-pack', PACK_BEGINS],
  ['a fetch amid its request', 'git-upload-pack', pkt('want').slice(0, 6)],
])('%s is 408 with a sentence when its client is silent, and no error of the service', async (_, service, sent) => {
  const { name, id, clone } = await app.start();
  // Only what waits for the client is put forward.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { read } = await stall(`${name}.git/${service}`, sent);
  if (sent === PACK_BEGINS) {
    const quarantine = join(repositoryFolder(app.deps.config.dataDir, id), 'quarantine');
    await expect.poll(() => readdir(quarantine).catch(() => [])).toHaveLength(1);
  }
  await vi.advanceTimersByTimeAsync(61_000);
  await expect.poll(read).toMatch(/^HTTP\/1.1 408 /);
  await expect.poll(read).toMatch(/the request did not arrive in time: .*nothing came for 60 s/);
  vi.useRealTimers();
  await expect.poll(() => lines.some(({ status }) => status === 408)).toBe(true);
  expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  // Its place is free, and the remote as it was.
  expect(await git(clone, 'ls-remote', 'origin', 'refs/heads/x')).toBe('');
  expect(await runGit(clone, 'push', 'origin', 'HEAD:after')).toMatchObject({ code: 0 });
});
