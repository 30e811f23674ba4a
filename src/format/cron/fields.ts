/** Any white space separates the fields. */
export function foldCron(text: string): string {
  return text.replace(/[\s\u200B\uFEFF]+/g, ' ').trim();
}

/** Minute, hour, day, month and weekday. Throws a sentence when there are more or fewer fields. */
export function cronFields(cron: string): readonly [string, string, string, string, string] {
  const fields = foldCron(cron).split(' ');
  const [minute, hour, day, month, weekday] = fields;
  if (fields.length !== 5 || !minute || !hour || !day || !month || !weekday)
    throw new Error('a cron line has five fields: minute hour day month weekday');
  return [minute, hour, day, month, weekday];
}

const PART = /^(?:[*?]|\d{1,2}(?:-\d{1,2})?)(?:\/\d{1,2})?$/;

/**
 * The numbers of a minute or hour field, ascending: `*`, `5`, `8-18`, `8-18/2`, a star with a step, and lists of these.
 * Throws a sentence for anything else.
 */
export function fieldNumbers(field: string, most: number): readonly number[] {
  const found = new Set<number>();
  for (const part of field.split(',')) {
    const [range = '', step = '1'] = part.split('/');
    const [first, last] = boundsOf(range, most);
    if (!PART.test(part) || first > last || last > most || Number(step) === 0) throw new Error(faultOf(part, most));
    if (range === String(first) && part.includes('/')) throw new Error(`write ${first}-${most}/${step} for ${part}`);
    for (let at = first; at <= last; at += Number(step)) found.add(at);
  }
  return [...found].sort((a, b) => a - b);
}

function faultOf(part: string, most: number): string {
  return `\`${part.slice(0, 40)}\` is not a star, a number from 0 to ${most}, a range such as 8-18, or one of them with a step`;
}

function boundsOf(range: string, most: number): readonly [number, number] {
  if (range === '*' || range === '?') return [0, most];
  const [first = '', last = first] = range.split('-');
  return [Number(first), Number(last)];
}
