import { compilePattern } from '../../format/values/pattern.js';
import { errorMessage } from '../../shared/refusal.js';
import { BadArgument } from '../arguments.js';
import { globSource } from './glob-pattern.js';

/** Compiles a glob as a model wrote it; `./` and `/work/` in front mean the same place. */
export function matchGlob(glob: string): (path: string) => boolean {
  const source = globSource(glob.replace(/^(\/work\/|\.\/)/, ''));
  const pattern = compileForModel(source);
  return (path) => pattern.test(path);
}

/** A compiled RE2 pattern; throws a sentence for the model when it is invalid. */
export function compileForModel(source: string): { test(subject: string): boolean } {
  try {
    return compilePattern(source);
  } catch (error) {
    throw new BadArgument(`the pattern is not valid: ${errorMessage(error)}`);
  }
}
