import { isNear } from '../../values/is-near.js';
import { isApprover } from '../step-options.js';
import type { ValueStart } from './value-start.js';

const FILLERS: ReadonlySet<string> = new Set(
  (
    'a an any one the our your my some this each every by from of with via to for only always first just ' +
    'please kindly ask asks asking get gets needs need requires require required must should shall is be are has have ' +
    'manual manually who role roles approval approved decided signed confirmed'
  ).split(' '),
);
const CONNECTIVES: ReadonlySet<string> = new Set(['and', 'or', 'and/or', 'then']);
/** Words that people write for a decider, with the format's name. */
const OTHER_WORDS: ReadonlyMap<string, string> = new Map([
  ...'person people someone somebody anyone anybody everyone team member'
    .split(' ')
    .map((word) => [word, 'human'] as const),
  ...'admin admins administrator'.split(' ').map((word) => [word, 'role:admin'] as const),
  ...'editor editors'.split(' ').map((word) => [word, 'role:editor'] as const),
]);

/**
 * The deciders at the start of a value: `the owner, always`. The first word that is not a filler must be a decider, or
 * close to one: `humans`, `@owner`.
 */
export function decidersAtStart(value: string): ValueStart | null {
  const found = readDeciders(value);
  return found && { text: found.text, fit: found.isSure ? 'strong' : 'weak' };
}

/** The same for a value without other words, so that prose such as `only what is right` does not count. */
export function decidersAlone(value: string): ValueStart | null {
  const found = readDeciders(value);
  return found?.isAlone ? { text: found.text, fit: 'strong' } : null;
}

interface Deciders {
  readonly text: string;
  /** True for the format's name, exact or misspelt. */
  readonly isSure: boolean;
  readonly isAlone: boolean;
}

function readDeciders(value: string): Deciders | null {
  const words = wordsOf(value);
  const first = words.findIndex((word) => !FILLERS.has(word));
  const deciders: string[] = [];
  let isSure = true;
  let isAlone = true;
  for (const word of words.slice(Math.max(first, 0))) {
    const decider = deciderOf(word);
    if (decider !== undefined) {
      deciders.push(decider);
      isSure = isSure && !OTHER_WORDS.has(word);
    } else if (deciders.length === 0 || !(CONNECTIVES.has(word) || FILLERS.has(word))) {
      isAlone = false;
      break;
    }
  }
  const [decider] = deciders;
  if (decider === undefined) return null;
  const isList = deciders.length > 1 && !deciders.includes('human');
  return { text: isList ? `[${[...new Set(deciders)].join(', ')}]` : decider, isSure, isAlone };
}

function wordsOf(value: string): string[] {
  return value
    .split(/[\s,;()[\]{}<>|&+]+/)
    .map((word) => word.replace(/^[*_~`"'“‘@#]+|[*_~`"'”’.!?:]+$/gu, '').toLowerCase())
    .filter((word) => word !== '');
}

function deciderOf(word: string): string | undefined {
  if (isApprover(word)) return word;
  const bare = word.replace(/['’]s$/u, '');
  return OTHER_WORDS.get(bare) ?? ['human', 'owner', 'role:editor', 'role:admin'].find((name) => isNear(bare, name));
}
