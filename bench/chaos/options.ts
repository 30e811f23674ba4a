import { parseArgs } from 'node:util';

export interface Options {
  readonly seed: number;
  /** How long the storm blows. */
  readonly minutes: number;
  readonly runs: number;
}

const USAGE = 'npm run chaos -- [--seed <number>] [--minutes <number>] [--runs <number>]';

/** Throws a sentence when an option cannot be read. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: { seed: { type: 'string' }, minutes: { type: 'string' }, runs: { type: 'string' } },
  });
  return {
    seed: number(values.seed, 'seed', Date.now() % 1_000_000),
    minutes: number(values.minutes, 'minutes', 2),
    runs: number(values.runs, 'runs', 200),
  };
}

function number(text: string | undefined, name: string, otherwise: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0)
    throw new Error(`--${name} is "${text}" and must be a number above 0: ${USAGE}`);
  return value;
}
