import type { CaseView, EvalRunView } from '../contract/evals.js';

type CaseChange = NonNullable<EvalRunView['comparison']>['cases'][number];

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

function changeBetween(was: boolean | null, now: boolean | null): CaseChange['change'] {
  if (was === null || now === null) return 'unknown';
  if (was === now) return 'same';
  return now ? 'fixed' : 'broken';
}

function resultOf(one: CaseView | undefined): CaseChange['was'] {
  if (!one) return null;
  const { passed, score, costUsd, runId } = one;
  return { passed, score, costUsd, runId };
}
