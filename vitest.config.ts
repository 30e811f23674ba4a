import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.js';

/** A folder of test/ each: what it may need is started once by the global setup. */
const PROJECTS = ['e2e', 'workflows', 'api', 'git', 'replay', 'unit'] as const;

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    // One more than the cores of the smallest machine: most files wait for a database, a timer or a process half the time.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // A project that extended the root would run the global setup again beside it.
    projects: PROJECTS.map((name) => ({
      test: {
        name,
        pool: 'forks',
        // To import the service costs seconds: a worker's next file has the modules of the one before, but where tests have
        // workers of Temporal in their own process.
        isolate: name === 'workflows',
        setupFiles: ['test/support/file-setup.ts'],
        include: [`test/${name}/**/*.test.ts`],
        testTimeout: name === 'unit' ? 10_000 : 60_000,
        hookTimeout: 60_000,
        // The machine may be busy with other tests: what is awaited is the event, not the time.
        expect: { poll: { timeout: 10_000 } },
      },
    })),
  },
});
