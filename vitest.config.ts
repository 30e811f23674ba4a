import { defineConfig } from 'vitest/config';

/** A folder of test/ each: what it may need is started once by the global setup. */
const PROJECTS = ['unit', 'api', 'workflows', 'replay', 'git', 'e2e'] as const;

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    maxWorkers: 2,
    // A project that extended the root would run the global setup again beside it.
    projects: PROJECTS.map((name) => ({
      test: {
        name,
        pool: 'forks',
        include: [`test/${name}/**/*.test.ts`],
        testTimeout: name === 'unit' ? 10_000 : 60_000,
        hookTimeout: 60_000,
        // The machine may be busy with other tests: what is awaited is the event, not the time.
        expect: { poll: { timeout: 10_000 } },
      },
    })),
  },
});
