// npm run migrate -- <name>: writes what leads from the migrations so far to prisma/schema.prisma as the next migration.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { say } from './lib/progress.mjs';
import { prepareClient, setUp } from './lib/setup.mjs';

/** @typedef {typeof import('../src/platform/db/write-migration.js') & typeof import('../src/platform/embedded/data-folder.js') & typeof import('../src/platform/embedded/free-port.js') & typeof import('../src/platform/embedded/postgres.js')} Sources */
const MODULES = [
  'platform/db/write-migration',
  'platform/embedded/data-folder',
  'platform/embedded/free-port',
  'platform/embedded/postgres',
];

const [name] = process.argv.slice(2);
if (!name) {
  process.stderr.write('Name the migration, in a-z, 0-9 and _: npm run migrate -- add_run_tags\n');
  process.exit(1);
}

await setUp([prepareClient]);
try {
  const written = await withDatabase(process.env.DATABASE_URL, async ({ writeMigration }, url) =>
    writeMigration(url, name),
  );
  say(
    written
      ? `Wrote ${written}: read it, then commit it with the schema.`
      : 'Schema and migrations agree: nothing to write.',
  );
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}

/**
 * Gives `work` a Postgres on which shadow databases may be made: the one named, or a passing one of its own.
 * @template T
 * @param {string | undefined} named
 * @param {(code: Sources, url: string) => Promise<T>} work
 */
async function withDatabase(named, work) {
  // Only now: it needs packages.
  const { loadSources } = await import('./lib/load-sources.mjs');
  const code = /** @type {Sources} */ (await loadSources(MODULES));
  if (named) return work(code, named);
  const path = mkdtempSync(join(tmpdir(), 'signalbox-migrate-'));
  const folder = code.dataFolder(path);
  await code.prepareDataFolder(folder);
  const server = await code.startPostgres(folder, await code.freePort());
  const end = async () => {
    await server.stop();
    rmSync(path, { recursive: true, force: true });
  };
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void end().then(() => process.exit(130)));
  try {
    return await work(code, server.url);
  } finally {
    await end();
  }
}
