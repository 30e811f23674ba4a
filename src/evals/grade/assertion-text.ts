import type { Assertion } from '../../format/index.js';

/** An assertion as its line in the file. */
export function assertionText({ type, not, step, arg, value }: Assertion): string {
  const scope = step === undefined ? '' : `step(${step}): `;
  if (type === 'judge' && !not && arg === undefined) return scope + value;
  const head = `${not ? 'not-' : ''}${type}${arg === undefined ? '' : `(${arg})`}`;
  return scope + (value === '' ? head : `${head}: ${value}`);
}
