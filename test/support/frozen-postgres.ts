import { childrenOf } from '../../src/platform/embedded/process-identity.js';
import { serverPid } from './service.js';

export interface FrozenPostgres {
  readonly pids: readonly number[];
  /** Kills what is left of it. */
  end(): void;
}

/** Stops the Postgres of a data folder with all its backends, as a hung disk would: connections live and nothing answers. */
export async function freezePostgres(dataDir: string): Promise<FrozenPostgres> {
  const postmaster = await serverPid(dataDir, 'postgres');
  process.kill(postmaster, 'SIGSTOP');
  const pids = [postmaster, ...childrenOf(postmaster)];
  for (const pid of pids) signal(pid, 'SIGSTOP');
  return {
    pids,
    end() {
      for (const pid of pids) signal(pid, 'SIGKILL');
    },
  };
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}
