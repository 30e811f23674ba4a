import type { ReadStep } from './flow-model.js';
import type { OpenFile } from './open-file.js';
import { report } from './source.js';
import type { STEP_OPTIONS } from './step-options.js';

type Option = keyof typeof STEP_OPTIONS;
type Wanted = Option | '@agent';

/** An option, and the options without which it has no meaning. */
const NEEDS: readonly (readonly [Option, readonly Wanted[]])[] = [
  ['as', ['each']],
  ['parallel', ['each']],
  ['until', ['back_to']],
  ['back_to', ['until']],
  ['with', ['subflow']],
  ['model', ['@agent']],
  ['tools', ['@agent']],
  ['secrets', ['@agent']],
  ['output', ['@agent', 'subflow']],
  ['retry', ['@agent', 'subflow']],
  ['budget', ['@agent', 'subflow']],
  ['need', ['approve']],
  ['edit', ['approve']],
  ['form', ['approve']],
  ['remind', ['approve']],
  ['escalate', ['approve']],
  ['self', ['approve']],
  ['on_reject', ['approve']],
  ['on_timeout', ['approve', 'wait']],
];

const EXCLUDES: readonly (readonly [Option, Option])[] = [
  ['approve', 'wait'],
  ['approve', 'each'],
  ['wait', 'each'],
  ['until', 'each'],
  ['back_to', 'each'],
];

/** Checks options that need or exclude each other. */
export function checkCombinations(file: OpenFile, step: ReadStep): void {
  const { options } = step;
  const has = (wanted: Wanted) => (wanted === '@agent' ? step.agent !== undefined : options.may(wanted));
  for (const [option, wanted] of NEEDS) {
    if (!options.has(option) || wanted.some(has)) continue;
    const list = wanted.map((name) => `\`${name}\``).join(' or ');
    report(file, options.at(option), {
      code: 'step/bad-value',
      message: `\`${option}\` has no meaning without ${list}.`,
    });
  }
  for (const [option, other] of EXCLUDES) {
    if (!options.has(option) || !options.has(other)) continue;
    const message = `\`${option}\` and \`${other}\` cannot be in one step.`;
    report(file, options.at(option), { code: 'step/bad-value', message, hint: 'Make two steps of it.' });
  }
  checkSchemas(file, step);
  checkGate(file, step);
  checkTimer(file, step);
}

function checkSchemas(file: OpenFile, { options, schema, form, schemaAt, formAt }: ReadStep): void {
  if (schema !== undefined && options.values.output !== 'json' && options.misspelt('output') === undefined) {
    const message = 'A schema has no effect without `- output: json`.';
    report(file, schemaAt, {
      code: 'step/schema-without-json',
      message,
      hint: 'Add `- output: json` under the heading.',
    });
  }
  if (form !== undefined && !options.may('approve') && !options.has('form')) {
    report(file, formAt, { code: 'step/bad-value', message: 'A form has no effect without `- approve:`.' });
  }
}

function checkGate(file: OpenFile, { options }: ReadStep): void {
  const { need, approve } = options.values;
  if (need === undefined || need === 1 || approve === undefined) return;
  const emails = approve.filter((name) => name.includes('@'));
  const onlyEmails = emails.length === approve.length;
  if (need === 'all' && !onlyEmails) {
    const message = '`need: all` needs `approve` to be a list of email addresses: otherwise the full list is unknown.';
    report(file, options.at('need'), { code: 'step/bad-value', message });
  }
  if (typeof need === 'number' && onlyEmails && need > new Set(emails).size) {
    const message = `\`need: ${need}\` can never be reached by ${new Set(emails).size} deciders.`;
    report(file, options.at('need'), { code: 'step/bad-value', message });
  }
}

function checkTimer(file: OpenFile, { options }: ReadStep): void {
  if (options.values.wait?.kind !== 'timer') return;
  for (const option of ['timeout', 'on_timeout'] as const) {
    if (!options.has(option)) continue;
    const message = `\`${option}\` has no meaning for a timer, which always ends.`;
    report(file, options.at(option), { code: 'step/bad-value', message });
  }
}
