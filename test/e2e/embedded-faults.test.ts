import { execFileSync } from 'node:child_process';
import { chmod, chown, mkdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHost, serversOf } from '../support/embedded-host.js';

const isRoot = process.getuid?.() === 0;

let host: Awaited<ReturnType<typeof createHost>>;
beforeAll(async () => {
  host = await createHost();
});
afterAll(() => host.close());

const damages = [
  ['postgres/PG_VERSION is gone', (folder: string) => rm(join(folder, 'postgres/PG_VERSION'))],
  ['postgres/global/pg_control is cut', (folder: string) => truncate(join(folder, 'postgres/global/pg_control'), 100)],
  ['postgres/base is gone', (folder: string) => rm(join(folder, 'postgres/base'), { recursive: true })],
  ['the write-ahead log is gone', (folder: string) => rm(join(folder, 'postgres/pg_wal'), { recursive: true })],
  ['temporal.sqlite is not one', overwriteSqlite],
] as const;

async function overwriteSqlite(folder: string): Promise<void> {
  for (const rest of ['-wal', '-shm']) await rm(join(folder, `temporal.sqlite${rest}`), { force: true });
  await writeFile(join(folder, 'temporal.sqlite'), 'x'.repeat(20_000));
}

test.each(damages)('a damaged data folder is said to be one, and nothing keeps running: %s', async (_name, damage) => {
  const folder = await host.usedFolder();
  await damage(folder);
  await expect(host.start(folder)).rejects.toThrow(
    /StartError: .*(restore (it|the folder|the data folder) from a backup|move it away)/,
  );
  await expect.poll(() => serversOf(folder)).toEqual([]);
});

test('a lost password file is named, with what it is for', async () => {
  const folder = await host.usedFolder();
  await rm(join(folder, 'postgres-password'));
  await expect(host.start(folder)).rejects.toThrow(
    `StartError: ${folder}/postgres-password cannot be read, and the database needs the password in it`,
  );
});

test('a cluster that was only half made is made anew', async () => {
  const folder = await host.folder();
  await mkdir(join(folder, 'postgres.new/base'), { recursive: true });
  const service = await host.start(folder);
  expect(await service.end('SIGTERM')).toBe(0);
});

test('a data folder that is a file is refused in a sentence', async () => {
  const folder = await host.folder();
  await writeFile(join(folder, 'file'), '');
  await expect(host.start(join(folder, 'file'))).rejects.toThrow('set SERVICE_DATA_DIR to a folder');
  await expect(host.start(join(folder, 'file', 'inside'))).rejects.toThrow('set SERVICE_DATA_DIR to a folder');
});

test('a folder that cannot be written is refused in a sentence', async () => {
  const folder = await host.folder();
  await chmod(folder, 0o555);
  const start = isRoot ? host.start(folder, { uid: 65_534 }) : host.start(folder);
  await expect(start).rejects.toThrow(
    `StartError: ${folder} cannot be written: give this user the right to write there`,
  );
});

test.skipIf(!canMount())('a full disk is refused in a sentence, at the first start and later', async () => {
  const folder = await host.folder();
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder]);
  try {
    const full = `StartError: The disk that holds ${folder} is full: free some space`;
    await expect(host.start(folder)).rejects.toThrow(full);
    execFileSync('mount', ['-o', 'remount,size=200m', folder]);
    await (await host.start(folder)).end('SIGTERM');
    execFileSync('sh', ['-c', `cat /dev/zero > ${folder}/ballast || true`], { stdio: 'ignore' });
    await expect(host.start(folder)).rejects.toThrow(full);
    await expect.poll(() => serversOf(folder)).toEqual([]);
  } finally {
    execFileSync('umount', ['-l', folder]);
  }
});

test.skipIf(!isRoot)(
  "root can keep its data under a folder that only root may enter, like root's own home",
  async () => {
    const folder = await host.folder();
    const home = join(folder, 'home');
    await mkdir(home, { mode: 0o700 });
    await chown(home, 0, 0);
    await chmod(folder, 0o700);
    const service = await host.start(join(home, 'data'));
    expect(await service.end('SIGTERM')).toBe(0);
    await expect.poll(() => serversOf(folder)).toEqual([]);
  },
);

test('without any Temporal the error names all five places', async () => {
  const [folder, empty] = [await host.folder(), await host.folder()];
  const env = { PATH: empty, XDG_CACHE_HOME: empty, HOME: empty, HTTPS_PROXY: 'http://127.0.0.1:1' };
  const start = host.start(folder, { env });
  await expect(start).rejects.toThrow(
    /\(1\) TEMPORAL_ADDRESS .*\(2\) .*signalbox\/bin\/temporal .*\(3\) .*PATH.*\(4\) .*\(5\) /,
  );
  await expect.poll(() => serversOf(folder)).toEqual([]);
});

function canMount(): boolean {
  try {
    execFileSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
