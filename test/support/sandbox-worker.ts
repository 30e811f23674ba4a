import pg from 'pg';
import type { Db } from '../../src/platform/db/contract.js';
import { createNet } from '../../src/platform/net/index.js';
import { createSandbox } from '../../src/sandbox/index.js';
import { silentLog } from './silent-log.js';

/**
 * A worker of its own process, for tests that kill it: runs one program and prints READY once it acts. Bundled by
 * `startSandboxWorker`; the database is reached plainly, since the generated client is not part of what is tested.
 */
const [url = '', dataDir = '', workDir = '', runId = '', command = ''] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: url });
const query: Db['query'] = async (text, values) => {
  const { text: statement, values: given } = typeof text === 'string' ? { text, values } : text;
  return (await pool.query(statement, given ? [...given] : [])).rows;
};
const db = { query } as Pick<Db, 'query'> as Db;

const sandbox = await createSandbox({
  config: { dataDir, sandbox: 'bubblewrap' },
  db,
  log: silentLog,
  net: createNet({ config: { allowHosts: [{ host: '127.0.0.1', port: null }], version: '1' } }),
  workerId: 'doomed',
});
const result = await sandbox.run({
  argv: ['bash', '-c', command],
  env: {},
  stdin: null,
  workDir,
  readOnly: [],
  timeoutMs: null,
  owner: { runId, lane: 'main' },
  signal: new AbortController().signal,
  onOutput: (chunk) => process.stdout.write(chunk),
});
throw new Error(`the program ended before the worker did: ${JSON.stringify(result)}`);
