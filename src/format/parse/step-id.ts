const RESERVED = new Set(['in', 'true', 'false', 'null']);

/** Letters that become two in an id. After NFKD, a ring or a diaeresis is a separate mark. */
const LETTERS: readonly (readonly [RegExp, string])[] = [
  [/([aou])\u0308/gi, '$1e'],
  [/a\u030a/gi, 'aa'],
  [/[øœ]/gi, 'oe'],
  [/æ/gi, 'ae'],
  [/[ßẞ]/g, 'ss'],
];

/**
 * Folds a title to an id by format.md, rule 7; letters such as `ä` and `ß` become two. If the result is too long for an
 * id, uses the fold of earlier versions. Empty when nothing is left.
 */
export function foldStepId(title: string): string {
  const folded = LETTERS.reduce((text, [letter, two]) => text.replace(letter, two), title.normalize('NFKD'));
  const id = fold(folded);
  if (stepIdFault(id) === undefined) return id;
  const old = fold(title);
  return stepIdFault(old) === undefined ? old : id;
}

/** The id that earlier versions derived from a title, if it is another valid one: files may still use it. */
export function oldStepId(title: string): string | undefined {
  const old = fold(title);
  return old === foldStepId(title) || stepIdFault(old) !== undefined ? undefined : old;
}

function fold(title: string): string {
  const folded = title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');
  return /^[0-9]/.test(folded) ? `step_${folded}` : folded;
}

/** The fault of an id; undefined when it is valid. */
export function stepIdFault(id: string): string | undefined {
  if (RESERVED.has(id)) return `\`${id}\` is a word of the expression language and cannot be an id.`;
  return /^[a-z_][a-z0-9_]*$/.test(id) && id.length <= 100 ? undefined : `\`${id}\` is not a valid id.`;
}
