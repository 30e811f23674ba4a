import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take half a minute and more: begun last, one of them would end long after the others. */
const LONG: readonly string[] = [
  'e2e/options',
  'e2e/embedded-service',
  'e2e/demo',
  'e2e/failpoints',
  'e2e/fire-stops',
  'e2e/fire-workers',
  'e2e/chaos',
  'e2e/fire-kill',
  'e2e/fire-slots',
  'e2e/fire-budget',
  'e2e/live-tokens',
  'e2e/fire-calls',
  'e2e/fire-hooks',
  'workflows/upgrade',
  'workflows/costs-of-ends',
  'workflows/hard-cases',
  'workflows/provider-errors',
  'workflows/long-flows',
  'workflows/slots',
  'workflows/long-runs',
  'api/storage-s3',
  'api/access',
  'api/sandbox-hogs',
  'api/database',
  'unit/workspace/hostile',
  'unit/workspace/edit-steps',
];

const tests = fileURLToPath(new URL('..', import.meta.url));
const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = LONG.indexOf(relative(tests, moduleId).replace(/\.test\.ts$/, ''));
  return place < 0 ? LONG.length : place;
};

/** One project after the other, as a worker goes on with the modules of its own project only; in each the longest first. */
export class LongestFirst extends BaseSequencer {
  override async sort(specs: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = this.ctx.projects.map(({ name }) => name);
    const project = (spec: TestSpecification) => projects.indexOf(spec.project.name);
    return specs.toSorted(
      (a, b) => project(a) - project(b) || placeOf(a) - placeOf(b) || a.moduleId.localeCompare(b.moduleId),
    );
  }
}
