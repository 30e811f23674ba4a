import { type ChildProcess, spawnSync } from 'node:child_process';
import { expect } from 'vitest';

/** So many whole lines of what a program prints, once they are there. */
export async function lines(from: ChildProcess, count: number): Promise<string[]> {
  let text = '';
  from.stdout?.on('data', (chunk) => {
    text += chunk;
  });
  const read = () => text.split('\n').slice(0, -1);
  await expect.poll(() => read().length).toBe(count);
  return read();
}

/** What `ps` says of a process; nothing of one that is gone. */
export const ps = (field: 'ppid' | 'stat', pid: number): string =>
  spawnSync('ps', ['-o', `${field}=`, '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();

/** A zombie is dead: who is to wait for it is not ours to say, and in a container it may be nobody. */
export const isAlive = (pid: number): boolean => /^[^Z]/.test(ps('stat', pid));
