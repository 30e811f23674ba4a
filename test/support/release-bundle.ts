import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleWorkflowCode } from '@temporalio/worker';

/** The workflows of an earlier release, bundled as its build did: their sources are kept in test/replay/releases/. */
export async function releaseBundle(version: string): Promise<string> {
  const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
  const workflowsPath = join(import.meta.dirname, '../replay/releases', version, 'index.ts');
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: quiet });
  const file = join(await mkdtemp(join(tmpdir(), 'signalbox-release-')), 'workflows.js');
  await writeFile(file, code);
  return file;
}
