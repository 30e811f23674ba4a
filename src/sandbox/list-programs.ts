import { readdirSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

export interface ProgramsHere {
  readonly programs: readonly { readonly run: string; readonly pid: number }[];
  /** Runs that have a folder. */
  readonly folders: readonly string[];
}

/** The sandboxes of this data folder on this machine, registered or not. Lists processes on Linux only. */
export async function listPrograms(dataDir: string): Promise<ProgramsHere> {
  const scratch = join(dataDir, 'scratch');
  return { programs: process.platform === 'linux' ? programsOf(scratch) : [], folders: await runsIn(scratch) };
}

function programsOf(scratch: string): { run: string; pid: number }[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    const command = commandOf(pid);
    const at = command.indexOf(`${scratch}/`);
    if (at < 0) return [];
    return [{ pid: Number(pid), run: /^[\w-]+/.exec(command.slice(at + scratch.length + 1))?.[0] ?? '' }];
  });
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

async function runsIn(scratch: string): Promise<string[]> {
  const entries = await readdir(scratch, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory() && /^[\w-]+$/.test(entry.name)).map(({ name }) => name);
}
