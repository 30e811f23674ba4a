import { getBubblewrap } from '../setup/bubblewrap.mjs';
import { buildBundle } from '../setup/bundle.mjs';
import { checkNodeVersion } from '../setup/node-version.mjs';
import { installPackages } from '../setup/packages.mjs';
import { generatePrismaClient } from '../setup/prisma-client.mjs';
import { getTemporalCli } from '../setup/temporal-cli.mjs';
import { explain } from './progress.mjs';
import { endChildren, endChildrenOnSignal } from './run-child.mjs';
import { withSetupLock } from './setup-lock.mjs';

/** Packages and the database client: enough for tools that work on the sources. */
export async function prepareClient() {
  await installPackages();
  await generatePrismaClient();
}

/** All that the built service needs to start, but for the sandbox. */
export async function prepareService() {
  await prepareClient();
  await Promise.all([buildBundle(), getTemporalCli()]);
}

/**
 * Brings a clean checkout to where the service can start. What is there is left alone, so a second call costs a few
 * hashes. Uses Node's own modules only, since it runs before there are packages. A fault is printed and ends the process.
 * @param {readonly (() => Promise<void>)[]} [parts] what to do side by side
 */
export async function setUp(parts = [prepareService, getBubblewrap]) {
  const release = endChildrenOnSignal();
  try {
    checkNodeVersion(process.versions.node);
    await withSetupLock(() => Promise.all(parts.map((part) => part())));
  } catch (error) {
    process.stderr.write(`\n${explain(error)}\n`);
    await endChildren();
    process.exit(1);
  } finally {
    release();
  }
}
