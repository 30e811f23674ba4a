/** The numbers that a minute's or an hour's field names, rising: `*`, `5`, `8-18`, `8-18/2`, a star with a step, and lists of them. */
export function fieldNumbers(field: string, most: number): readonly number[] {
  const found = new Set<number>();
  for (const part of field.split(',')) {
    const [range = '', step = '1'] = part.split('/');
    const [first, last] = boundsOf(range, most);
    for (let at = first; at <= last; at += Number(step)) found.add(at);
  }
  return [...found].sort((a, b) => a - b);
}

function boundsOf(range: string, most: number): readonly [number, number] {
  if (range === '*' || range === '?') return [0, most];
  const [first = '', last = first] = range.split('-');
  return [Number(first), Number(last)];
}
