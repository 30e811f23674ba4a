import { readFile } from 'node:fs/promises';
import { findInstallKeys } from './people/index.js';
import { parseConfig, readEnvironment } from './platform/config/index.js';
import { createDb } from './platform/db/index.js';
import { findServers } from './platform/embedded/index.js';
import { type Rotation, rotateKeys } from './secrets/index.js';
import { quietLog } from './shared/log.js';
import { errorMessage } from './shared/refusal.js';

/** A separate program that wraps every secret of a running installation under its first install key. */
const USAGE = `npm run rotate-keys

Wraps every secret under the first install key (of SERVICE_KEYS, or of the file install-keys in SERVICE_DATA_DIR), while
the service runs. Every process has to have the new key by then, as the first of its list. It may be stopped at any time
and started again. Exit code 0: all are under the first key. 1: some are not, and the output says why. 2: it could not begin.
`;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function rotate(): Promise<number> {
  const asked = parseConfig(readEnvironment(), 'rotate-keys');
  const keys = await findInstallKeys(asked);
  const first = keys?.ring[0];
  if (!keys || !first) throw new Error('There is no install key yet: start the service once, or set SERVICE_KEYS.');
  const found = await findServers(asked);
  const ca = asked.databaseCa === null ? null : await readFile(asked.databaseCa, 'utf8');
  const db = createDb({ url: found.databaseUrl, ca, poolSize: 2, log: quietLog });
  try {
    if (!(await db.ping())) throw new Error('The database does not answer: start it, or correct DATABASE_URL.');
    return report(
      await rotateKeys(db, keys, (done) => say(`${done} wrapped`)),
      keys.ring.map(({ id }) => id),
    );
  } finally {
    await db.close();
  }
}

function report({ rewrapped, stuck, byKey }: Rotation, ids: readonly string[]): number {
  const [first = '', ...others] = ids;
  for (const why of stuck) say(`Left: ${why}.`);
  say(`${rewrapped} wrapped again; ${byKey.get(first) ?? 0} are under the key "${first}".`);
  for (const id of others) {
    const count = byKey.get(id) ?? 0;
    say(
      count === 0
        ? `The key "${id}" no longer wraps a secret. Links that it signed stop working when you remove it from the list.`
        : `The key "${id}" still wraps ${count}: keep it.`,
    );
  }
  return stuck.length === 0 ? 0 : 1;
}

async function main(): Promise<void> {
  if (process.argv.length > 2) {
    const isHelp = process.argv.includes('--help');
    process.stderr.write(USAGE);
    process.exitCode = isHelp ? 0 : 2;
    return;
  }
  try {
    process.exitCode = await rotate();
  } catch (error) {
    process.stderr.write(`The keys could not be rotated. ${errorMessage(error)}\n`);
    process.exitCode = 2;
  }
}

void main();
