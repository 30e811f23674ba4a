import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { acquireLock } from '../../src/platform/embedded/instance-lock.js';
import { identify, isAlive, startedAt } from '../../src/platform/embedded/process-identity.js';
import { copiedRecord, endOrphans, livingServers, recordServer } from '../../src/platform/embedded/process-records.js';
import { StartError } from '../../src/platform/embedded/start-error.js';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'signalbox-lock-'));
  file = join(folder, 'lock');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a lock that is held refuses with the pid and the address, and is free once released', () => {
  const lock = acquireLock(file, 'http://127.0.0.1:4747');
  expect(() => acquireLock(file, 'http://other')).toThrow(
    new StartError(
      `Signalbox already runs on this data folder (pid ${process.pid}, http://127.0.0.1:4747): use that one, stop it, or set SERVICE_DATA_DIR to another folder. The lock is ${file}.`,
    ),
  );
  lock.release();
  acquireLock(file, 'http://other').release();
  expect(existsSync(file)).toBe(false);
});

test('the lock of a process that was killed is taken over', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
  await once(child, 'spawn');
  writeFileSync(file, JSON.stringify({ ...identify(child.pid ?? 0), address: 'http://dead' }));
  expect(() => acquireLock(file, 'http://me')).toThrow('http://dead');
  child.kill('SIGKILL');
  await once(child, 'exit');
  acquireLock(file, 'http://me');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ pid: process.pid, address: 'http://me' });
});

test('a pid that was given away again does not keep the lock', () => {
  writeFileSync(file, JSON.stringify({ pid: process.pid, started: 'another time', address: 'http://dead' }));
  expect(() => acquireLock(file, 'http://me')).not.toThrow();
});

test.each(['', '{', '{"pid":"x"}', '\u0000\u0000'])('a lock that cannot be read (%j) does not stop a start', (text) => {
  writeFileSync(file, text);
  expect(() => acquireLock(file, 'http://me')).not.toThrow();
});

test('a lock that was taken over by another is not removed by its old holder', () => {
  const lock = acquireLock(file, 'http://old');
  const other = JSON.stringify({ pid: 1, started: 'x', address: 'http://new' });
  writeFileSync(file, other);
  lock.release();
  expect(readFileSync(file, 'utf8')).toBe(other);
});

test('a process is itself only as long as it lives', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
  await once(child, 'spawn');
  const identity = identify(child.pid ?? 0);
  expect(isAlive(identity)).toBe(true);
  expect(isAlive({ ...identity, started: `${identity.started}0` })).toBe(false);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(isAlive(identity)).toBe(false);
  expect(startedAt(2 ** 22 + 1)).toBeNull();
});

test('a command name with spaces and parentheses does not hide the start time', async () => {
  const program = join(folder, 'a) S 1 (c');
  copyFileSync('/bin/sleep', program);
  const child = spawn(program, ['60']);
  await once(child, 'spawn');
  await expect.poll(() => readFileSync(`/proc/${child.pid}/comm`, 'utf8')).toContain('a) S 1 (c');
  expect(startedAt(child.pid ?? 0)).toMatch(/\/\d+$/);
  expect(startedAt(child.pid ?? 0)).toBe(startedAt(child.pid ?? 0));
  child.kill('SIGKILL');
});

test('a lock that was copied with its folder does not stop a start, and one of an older build does', () => {
  const lock = acquireLock(file, 'http://original');
  const copy = mkdtempSync(join(tmpdir(), 'signalbox-lock-'));
  copyFileSync(file, join(copy, 'lock'));
  acquireLock(join(copy, 'lock'), 'http://copy').release();
  const { folder: _, ...older } = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(join(copy, 'lock'), JSON.stringify(older));
  expect(() => acquireLock(join(copy, 'lock'), 'http://copy')).toThrow('http://original');
  // The same folder under another name is the same folder.
  const moved = `${folder}-moved`;
  renameSync(folder, moved);
  expect(() => acquireLock(join(moved, 'lock'), 'http://other')).toThrow('http://original');
  renameSync(moved, folder);
  lock.release();
  rmSync(copy, { recursive: true, force: true });
});

describe('the record of a server', () => {
  const recorded = async (cwd: string) => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { cwd });
    await once(child, 'spawn');
    return { child, identity: identify(child.pid ?? 0), exited: once(child, 'exit') };
  };

  test('is of the folder that it was written in: a copy of it ends no server and finds none', async () => {
    const { child, identity, exited } = await recorded(folder);
    const records = join(folder, 'processes.json');
    recordServer(records, 'temporal', { ...identity, port: 1 });
    const copy = mkdtempSync(join(tmpdir(), 'signalbox-lock-'));
    copyFileSync(records, join(copy, 'processes.json'));
    expect(livingServers(join(copy, 'processes.json'))).toEqual({});
    expect(copiedRecord(join(copy, 'processes.json'), 'temporal')).toMatchObject({ pid: child.pid });
    expect(await endOrphans(join(copy, 'processes.json'))).toEqual([]);
    expect(isAlive(identity)).toBe(true);
    expect(livingServers(records)).toMatchObject({ temporal: { port: 1 } });
    expect(await endOrphans(records)).toEqual(['temporal']);
    await exited;
    rmSync(copy, { recursive: true, force: true });
  });

  test.runIf(process.platform === 'linux')(
    'of an older build is of the folder in which the process works',
    async () => {
      const { child, identity, exited } = await recorded(folder);
      const other = mkdtempSync(join(tmpdir(), 'signalbox-lock-'));
      for (const place of [folder, other])
        writeFileSync(join(place, 'processes.json'), JSON.stringify({ temporal: identity }));
      expect(await endOrphans(join(other, 'processes.json'))).toEqual([]);
      expect(isAlive(identity)).toBe(true);
      expect(await endOrphans(join(folder, 'processes.json'))).toEqual(['temporal']);
      await exited;
      expect(child.signalCode).toBe('SIGTERM');
      rmSync(other, { recursive: true, force: true });
    },
  );
});
