import { existsSync } from 'node:fs';
import { inRoot } from '../lib/paths.mjs';
import { SetupError, withProgress } from '../lib/progress.mjs';
import { runChild } from '../lib/run-child.mjs';
import { hashOf, runOnce } from '../lib/stamp.mjs';

/** Writes src/platform/db/generated from the schema, when the schema or Prisma changed. */
export async function generatePrismaClient() {
  const hash = hashOf([inRoot('prisma/schema.prisma'), inRoot('node_modules/prisma/package.json')]);
  const [stamp, outputs] = [inRoot('node_modules/.signalbox-prisma'), [inRoot('src/platform/db/generated/client.ts')]];
  await runOnce({ stamp, hash, outputs }, () =>
    withProgress('generating the database client (prisma generate)', generate),
  );
}

async function generate() {
  // The generator is WebAssembly; naming any program here keeps Prisma from downloading an engine it would not run.
  const engine = ['/bin/true', '/usr/bin/true'].find((path) => existsSync(path)) ?? process.execPath;
  const { code, output } = await runChild(
    process.execPath,
    [inRoot('node_modules/prisma/build/index.js'), 'generate'],
    {
      env: { PRISMA_SCHEMA_ENGINE_BINARY: engine, PRISMA_HIDE_UPDATE_MESSAGE: '1', CHECKPOINT_DISABLE: '1' },
    },
  );
  if (code !== 0) throw new SetupError(`${output.trim()}\n\n\`prisma generate\` ended with ${code}.`);
}
