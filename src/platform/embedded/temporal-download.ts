import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { within } from '../../shared/deadline.js';
import type { Acquire } from './temporal-binary.js';

const PATIENCE_MS = 180_000;

/**
 * The SDK's own download of the command line. The SDK can only start what it downloads, so a server is started in
 * memory and ended at once; the program that it left in the draft folder then moves into the cache.
 */
export async function downloadTemporal({ version, binFolder, progress }: Acquire): Promise<string> {
  await mkdir(binFolder, { recursive: true });
  const downloadDir = await mkdtemp(join(binFolder, '.download-'));
  progress(`Downloading Temporal ${version} …`);
  try {
    await startOnce(downloadDir, version);
    const name = (await readdir(downloadDir)).find((each) => each.startsWith('temporal'));
    if (name === undefined) throw new Error('the download left no program');
    await chmod(join(downloadDir, name), 0o755);
    await rename(join(downloadDir, name), join(binFolder, 'temporal'));
    return join(binFolder, 'temporal');
  } finally {
    await rm(downloadDir, { recursive: true, force: true });
  }
}

async function startOnce(downloadDir: string, version: string): Promise<void> {
  // Only here: loading the test environment costs a third of a second that other starts need not pay.
  const { TestWorkflowEnvironment } = await import('@temporalio/testing');
  const starting = TestWorkflowEnvironment.createLocal({
    server: { executable: { type: 'cached-download', downloadDir, version: `v${version}` }, ip: '127.0.0.1' },
  });
  const late = () => Promise.reject(new Error(`it took longer than ${PATIENCE_MS / 1_000} s`));
  await (await within(starting, PATIENCE_MS, late)).teardown();
}
