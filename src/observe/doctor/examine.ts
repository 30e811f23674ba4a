import { sleep } from '../../shared/deadline.js';
import type { Check, Scene } from './check.js';
import { blobs } from './checks/blobs.js';
import { events } from './checks/events.js';
import { files } from './checks/files.js';
import { journal } from './checks/journal.js';
import { money } from './checks/money.js';
import { notifications } from './checks/notifications.js';
import { orphans } from './checks/orphans.js';
import { outbox } from './checks/outbox.js';
import { owners } from './checks/owners.js';
import { parks } from './checks/parks.js';
import { pushes } from './checks/pushes.js';
import { revisions } from './checks/revisions.js';
import { sandboxes } from './checks/sandboxes.js';
import { schedules } from './checks/schedules.js';
import { secrets } from './checks/secrets.js';
import { slots } from './checks/slots.js';
import { steps } from './checks/steps.js';
import { triggers } from './checks/triggers.js';
import { workflows } from './checks/workflows.js';

/** All checks by the name under which they are reported. */
const CHECKS = {
  workflows,
  sandboxes,
  parks,
  steps,
  slots,
  schedules,
  triggers,
  notifications,
  journal,
  money,
  events,
  outbox,
  pushes,
  revisions,
  files,
  blobs,
  orphans,
  owners,
  secrets,
} as const satisfies Record<string, Check>;

export type CheckName = keyof typeof CHECKS;

export interface Finding {
  readonly check: CheckName;
  /** Null when the fault does not concern a run. */
  readonly run: string | null;
  /** A sentence. */
  readonly says: string;
  /** What to do about it: a sentence. */
  readonly remedy: string;
}

/** A stop reaches a sandbox within five seconds, so a finding of two examinations this far apart is a fault. */
const RECHECK_MS = 6_000;

/**
 * Examines the installation, or one root run with its descendants. Findings are confirmed by a second examination six
 * seconds later, so that a run in flight is not reported as a fault. Throws when the database or Temporal does not
 * answer.
 */
export async function examine(scene: Scene, againAfterMs = RECHECK_MS): Promise<readonly Finding[]> {
  const names = Object.keys(CHECKS) as CheckName[];
  const first = await runChecks(scene, names);
  if (first.length === 0) return [];
  await sleep(againAfterMs);
  const seen = new Set(first.map(keyOf));
  const again = await runChecks(scene, [...new Set(first.map(({ check }) => check))]);
  return again.filter((finding) => seen.has(keyOf(finding)));
}

const keyOf = ({ check, says }: Finding): string => `${check}\0${says}`;

async function runChecks(scene: Scene, names: readonly CheckName[]): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const check of names) {
    const { remedy } = CHECKS[check];
    for (const { run, says } of await CHECKS[check].find(scene)) {
      found.push({ check, run, says: run === null ? says : `Run ${run} ${says}.`, remedy });
    }
  }
  return found;
}
