import { Cron } from 'croner';
import { daysOf } from '../cron/days.js';
import { fieldNumbers, foldCron } from '../cron/fields.js';

const MACROS: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
};

/**
 * A cron line of five fields (minute hour day month weekday) that fires at least once. `cron` has normalized white
 * space.
 */
export function readCron(text: string): { ok: true; cron: string } | { ok: false; message: string } {
  const cron = foldCron(text);
  if (cron.startsWith('@')) return { ok: false, message: macroHint(cron) };
  const fields = cron === '' ? 0 : cron.split(' ').length;
  if (fields !== 5) return { ok: false, message: wrongCount(fields) };
  if (cron.length > 200) return { ok: false, message: 'cron is longer than 200 characters' };
  try {
    // Also validates minutes and hours. Croner knows only one of the two ways to combine the day fields.
    new Cron(cron, { mode: '5-part', paused: true });
    const [minute = '', hour = ''] = cron.split(' ');
    fieldNumbers(minute, 59);
    fieldNumbers(hour, 23);
    return daysOf(cron).from(Date.now()) !== null
      ? { ok: true, cron }
      : { ok: false, message: `cron \`${cron}\` names a date that never comes` };
  } catch (error) {
    return { ok: false, message: `cron \`${cron}\` is not readable: ${reason(error)}` };
  }
}

function macroHint(cron: string): string {
  const plain = MACROS[cron.toLowerCase()];
  if (plain) return `cron takes five fields: write \`${plain}\` for \`${cron}\``;
  return 'cron takes five fields (minute hour day month weekday), like `30 8 * * 1`';
}

function wrongCount(fields: number): string {
  const found = `cron has ${fields} field${fields === 1 ? '' : 's'} and takes five (minute hour day month weekday)`;
  return fields === 6 ? `${found}: a flow starts at most once a minute, so there are no seconds` : found;
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message.replace(/^CronPattern: /, '') : 'unknown form';
}
