import { readFile } from 'node:fs/promises';
import { examine, reportOf } from './observe/index.js';
import { findInstallKeys } from './people/index.js';
import { parseConfig, readEnvironment } from './platform/config/index.js';
import { createDb } from './platform/db/index.js';
import { findServers } from './platform/embedded/index.js';
import { createBlobStore } from './platform/storage/index.js';
import { connectTemporal, createWorkflows } from './platform/temporal/index.js';
import { quietLog } from './shared/log.js';
import { errorMessage } from './shared/refusal.js';

/** The doctor: a separate program that reads a running installation and changes nothing. */
const USAGE = `npm run doctor [-- --json]

Audits the installation of SERVICE_DATA_DIR, or of DATABASE_URL and TEMPORAL_ADDRESS, while it runs.
Exit code 0: nothing is wrong. 1: something is, and the output says what to do. 2: it could not look.
`;

async function diagnose(isJson: boolean): Promise<number> {
  const asked = parseConfig(readEnvironment(), 'doctor');
  const found = await findServers(asked);
  const ca = asked.databaseCa === null ? null : await readFile(asked.databaseCa, 'utf8');
  const db = createDb({ url: found.databaseUrl, ca, poolSize: 4, log: quietLog });
  const connection = await connectTemporal({ address: found.temporal.address, tls: asked.temporal.tls });
  const workflows = createWorkflows({ ...asked.temporal, ...found.temporal, connection });
  try {
    if (!(await db.ping())) throw new Error('The database does not answer: start it, or correct DATABASE_URL.');
    if (!(await workflows.ping()))
      throw new Error(`Temporal at ${found.temporal.address} does not answer: start it, or correct TEMPORAL_ADDRESS.`);
    const findings = await examine({
      deps: { db, workflows, blobs: createBlobStore(asked), config: asked, keys: await findInstallKeys(asked) },
      root: null,
    });
    process.stdout.write(isJson ? `${JSON.stringify({ findings }, null, 2)}\n` : reportOf(findings));
    return findings.length === 0 ? 0 : 1;
  } finally {
    await Promise.allSettled([db.close(), workflows.close()]);
  }
}

async function main(): Promise<void> {
  const flags = process.argv.slice(2);
  const unknown = flags.find((flag) => flag !== '--json' && flag !== '--help');
  if (unknown !== undefined || flags.includes('--help')) {
    process.stderr.write(unknown === undefined ? USAGE : `unknown option ${unknown}\n\n${USAGE}`);
    process.exitCode = unknown === undefined ? 0 : 2;
    return;
  }
  try {
    process.exitCode = await diagnose(flags.includes('--json'));
  } catch (error) {
    process.stderr.write(`The doctor could not look. ${errorMessage(error)}\n`);
    process.exitCode = 2;
  }
}

void main();
