import type { CaseView } from './case-views.js';

export type Change = 'broken' | 'fixed' | 'same' | 'added' | 'removed' | 'unknown';

export interface CaseChange {
  readonly name: string;
  /** `broken` passed before and fails now; `unknown` has no result on one side. */
  readonly change: Change;
  readonly was: Result | null;
  readonly now: Result | null;
}

interface Result {
  readonly passed: boolean | null;
  readonly score: number | null;
  readonly costUsd: number;
  readonly runId: string | null;
}

/** Compares two runs of an eval case by case. Cases are matched by title. */
export function compareRuns(was: readonly CaseView[], now: readonly CaseView[]): CaseChange[] {
  const before = new Map(was.map((one) => [one.name, one]));
  const after = new Set(now.map(({ name }) => name));
  return [
    ...now.map((one) => changeOf(before.get(one.name), one)),
    ...was.filter(({ name }) => !after.has(name)).map((one) => changeOf(one, undefined)),
  ];
}

function changeOf(was: CaseView | undefined, now: CaseView | undefined): CaseChange {
  const change = !was ? 'added' : !now ? 'removed' : changeBetween(was.passed, now.passed);
  return { name: (now ?? was)?.name ?? '', change, was: resultOf(was), now: resultOf(now) };
}

function changeBetween(was: boolean | null, now: boolean | null): Change {
  if (was === null || now === null) return 'unknown';
  if (was === now) return 'same';
  return now ? 'fixed' : 'broken';
}

function resultOf(one: CaseView | undefined): Result | null {
  if (!one) return null;
  const { passed, score, costUsd, runId } = one;
  return { passed, score, costUsd, runId };
}
