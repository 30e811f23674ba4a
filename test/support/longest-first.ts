import { createHash } from 'node:crypto';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take long, as the list at the end of a run says: begun last, one would end long after the others. */
const LONG: readonly string[] = [
  'e2e/failpoints',
  'e2e/options',
  'e2e/fire-kill',
  'e2e/fire-starved',
  'e2e/fire-deaths',
  'e2e/fire-workers',
  'e2e/process-life',
  'e2e/chaos',
  'e2e/embedded-service',
  'e2e/fire-stops',
  'e2e/fire-slots',
  'e2e/embedded-faults',
  'e2e/live-tokens',
  'e2e/demo',
  'e2e/fire-calls',
  'e2e/fire-budget',
  'e2e/embedded',
  'e2e/fire-hooks',
  'e2e/fire-providers',
  'e2e/rotate-keys',
  'e2e/fire-compaction',
  'workflows/continue-as-new',
  'workflows/provider-streams',
  'workflows/upgrade',
  'workflows/slots',
  'workflows/workflows-port',
  'workflows/long-flows',
  'workflows/each-rounds',
  'workflows/provider-errors',
  'workflows/model-waits',
  'workflows/long-runs',
  'workflows/histories',
  'workflows/approve-links',
  'workflows/pending-push',
  'workflows/evals-judge-waits',
  'workflows/event-triggers',
  'workflows/shared-budgets',
  'workflows/costs-of-ends',
  'workflows/hard-cases',
  'api/access',
  'api/body-proof',
  'api/sandbox-hogs',
  'api/database',
  'api/tools-openapi',
  'api/tools-runtime',
  'api/tools-mcp-local',
  'api/tools-programs',
  'api/tools-mcp-remote',
  'api/storage-s3',
  'git/push-crash',
  'git/hostile-pushes',
  'git/deploy-crash',
  'git/attacks',
  'git/library-remote',
  'unit/workspace/hostile',
  'unit/workspace/cron-year',
  'unit/check-pool',
  'unit/workspace/option-ignored',
];

const tests = fileURLToPath(new URL('..', import.meta.url));
const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = LONG.indexOf(relative(tests, moduleId).replace(/\.test\.ts$/, ''));
  return place < 0 ? LONG.length : place;
};

/**
 * One project after the other, as a worker goes on with the modules of its own project only; in each the longest first,
 * or in the order that a seed gives when tests are shuffled.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(specs: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = this.ctx.projects.map(({ name }) => name);
    const project = (spec: TestSpecification) => projects.indexOf(spec.project.name);
    const { shuffle, seed } = this.ctx.config.sequence;
    const drawn = ({ moduleId }: TestSpecification) => createHash('sha256').update(`${seed} ${moduleId}`).digest('hex');
    return specs.toSorted((a, b) => {
      if (shuffle) return project(a) - project(b) || drawn(a).localeCompare(drawn(b));
      return project(a) - project(b) || placeOf(a) - placeOf(b) || a.moduleId.localeCompare(b.moduleId);
    });
  }
}
