import { parseArgs } from 'node:util';

export interface Options {
  readonly seconds: number;
  /** Deliveries a minute, those that are sent twice included. */
  readonly rate: number;
}

const USAGE = 'npm run bench -- --hooks [--seconds <number>] [--rate <deliveries a minute>]';

/** Throws a sentence when an option cannot be read. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: { hooks: { type: 'boolean' }, seconds: { type: 'string' }, rate: { type: 'string' } },
  });
  return { seconds: number(values.seconds, 'seconds', 120), rate: number(values.rate, 'rate', 1_000) };
}

function number(text: string | undefined, name: string, otherwise: number): number {
  const value = text === undefined ? otherwise : Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new Error(`--${name} is "${text}" and must be a number above 0: ${USAGE}`);
}
