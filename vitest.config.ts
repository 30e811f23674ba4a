import { totalmem } from 'node:os';
import { defineConfig } from 'vitest/config';
import { inRoot } from './scripts/lib/paths.mjs';
import { hashOf } from './scripts/lib/stamp.mjs';
import { withThinStreams } from './scripts/lib/thin-streams.mjs';
import { TIMES } from './test/support/exploring.js';
import { LongestFirst } from './test/support/longest-first.js';
import { PATIENCE_MS } from './test/support/patience.js';
import { NEED_POSTGRES, PROJECTS } from './test/support/projects.js';

/**
 * Two more than the cores of the smallest machine: a file that kills processes waits most of the time, and others need
 * most of a core. Each worker and what it starts may take 2 GB.
 */
const WORKERS = Math.min(4, Math.max(3, Math.floor(totalmem() / 2 ** 31)));

/** Tests run the model SDKs as the build makes them. Vitest's cache of modules goes by the names of plugins. */
const thinStreams = {
  name: `thin-streams ${hashOf([inRoot('scripts/lib/thin-streams.mjs')])}`,
  transform: (code: string, id: string) => withThinStreams(id.replace(/\?.*$/, ''), code),
};

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    maxWorkers: WORKERS,
    sequence: { sequencer: LongestFirst },
    // Each project has a transformer of its own: what one has made of a source the next ones need not make again.
    experimental: { fsModuleCache: true },
    // A project that extended the root would run the global setup again beside it.
    projects: PROJECTS.map((name) => ({
      plugins: [thinStreams],
      test: {
        name,
        pool: 'forks',
        server: { deps: { inline: [/@ai-sdk\//, /eventsource-parser/] } },
        // To import the service costs seconds: a worker's next file has the modules of the one before.
        isolate: false,
        setupFiles: [
          'test/support/file-setup.ts',
          ...(NEED_POSTGRES.has(name) ? ['test/support/database-setup.ts'] : []),
        ],
        include: [`test/${name}/**/*.test.ts`],
        testTimeout: PATIENCE_MS.test * TIMES,
        hookTimeout: PATIENCE_MS.test,
        expect: { poll: { timeout: PATIENCE_MS.poll } },
      },
    })),
  },
});
