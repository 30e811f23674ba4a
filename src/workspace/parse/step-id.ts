const RESERVED = new Set(['in', 'true', 'false', 'null']);

/** A title folded to an id: format.md, rule 7. Empty when nothing is left of it. */
export function foldStepId(title: string): string {
  const folded = title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');
  return /^[0-9]/.test(folded) ? `step_${folded}` : folded;
}

/** What is wrong with an id, or undefined. */
export function stepIdFault(id: string): string | undefined {
  if (RESERVED.has(id)) return `\`${id}\` is a word of the expression language and no id.`;
  return /^[a-z_][a-z0-9_]*$/.test(id) && id.length <= 100 ? undefined : `\`${id}\` is not a valid id.`;
}
