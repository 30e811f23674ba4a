import { clean, dollars, excerpt, seconds, withoutFrontmatter, wrap } from './format.mjs';

const OUTPUT_LINES = 6;
const RESULT_LINES = 12;
const ARGUMENT_CHARACTERS = 60;
const SKIPPED = /** @type {Record<string, string>} */ ({ when: 'skipped, since its condition does not hold' });

/**
 * @typedef {import('../../src/contract/runs.js').RunView} RunView
 * @typedef {RunView['steps'][number]} StepView
 * @typedef {Readonly<Record<string, unknown>>} EventData
 * @typedef {{ screen: import('./screen.mjs').Screen, step: StepView, at: string, data: EventData, args: string }} EventOfStep
 */

/** What a person sees of an event of a step; kinds that are not here are not shown. */
const LINES = /** @satisfies {Record<string, (shown: EventOfStep) => void>} */ ({
  'step.started': ({ screen, step, at }) =>
    screen.line(`${at} ${screen.paint('cyan', '▸')} ${titleOf(screen, step)}${step.agent ? `, by ${step.agent}` : ''}`),
  'tool.finished': toolLine,
  'file.written': ({ screen, at, data }) =>
    screen.line(`${at}   ${screen.paint('green', 'kept')} ${data.path}, ${data.size} bytes`),
  'model.retrying': ({ screen, at, data }) => screen.line(`${at}   asks the model again: ${data.error}`),
  'model.failed': ({ screen, at, data }) => screen.line(`${at}   no answer of the model: ${data.error}`),
  'approval.decided': ({ screen, at, data }) =>
    screen.line(
      `${at}   ${screen.paint('green', String(data.text))}${data.note ? `: “${clean(String(data.note))}”` : ''}`,
    ),
  'event.received': ({ screen, at, data }) => screen.line(`${at}   ${screen.paint('green', String(data.text))}`),
  'step.completed': completedLine,
  'step.skipped': ({ screen, step, at, data }) =>
    screen.line(`${at} ${screen.paint('dim', `– ${step.title}: ${SKIPPED[String(data.why)] ?? 'skipped'}`)}`),
  'step.failed': ({ screen, step, at, data }) =>
    screen.line(`${at} ${screen.paint('red', '✗')} ${titleOf(screen, step)}: ${data.error}`),
});

/** @param {string} type @param {EventOfStep} shown */
export function showEvent(type, shown) {
  if (Object.hasOwn(LINES, type)) LINES[/** @type {keyof typeof LINES} */ (type)](shown);
}

/** @param {EventOfStep} shown */
function toolLine({ screen, step, at, data, args }) {
  const failed = data.isError === true;
  const call = readCall(String(data.name), args);
  const mark = failed ? screen.paint('red', `${call.title} failed`) : call.title;
  screen.line(`${at}   ${step.agent ?? ''}: ${mark} ${screen.paint('dim', `(${seconds(Number(data.ms))})`)}`);
  const text = call.written !== null && !failed ? call.written : String(data.preview);
  screen.block(
    excerpt(withoutFrontmatter(text), { lines: OUTPUT_LINES, width: screen.textWidth }),
    failed ? 'red' : 'dim',
  );
}

/**
 * A call in short, and what it writes where it writes a file. Long arguments arrive truncated and are not valid JSON then.
 * @param {string} name @param {string} args
 * @returns {{ title: string, written: string | null }}
 */
function readCall(name, args) {
  try {
    const { content, ...rest } = JSON.parse(args);
    const words = Object.values(rest).map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
    return { title: short(`${name} ${words.join(' ')}`), written: typeof content === 'string' ? content : null };
  } catch {
    return { title: short(`${name} ${args}`), written: null };
  }
}

/** @param {string} text */
function short(text) {
  const line = clean(text).replace(/\s+/g, ' ').trim();
  return line.length <= ARGUMENT_CHARACTERS ? line : `${line.slice(0, ARGUMENT_CHARACTERS)}…`;
}

/** @param {EventOfStep} shown */
function completedLine({ screen, step, at, data }) {
  const { result, durationMs, costUsd, eventPayload } = step;
  const figures = screen.paint('dim', `${seconds(durationMs ?? 0)}, ${dollars(costUsd)}`);
  screen.line(`${at} ${screen.paint('green', '✓')} ${titleOf(screen, step)}, ${figures}`);
  if (data.again) return;
  if (eventPayload !== undefined) screen.block(wrap(JSON.stringify(eventPayload), screen.textWidth), 'cyan');
  // What a person has decided on they have read already.
  if (result !== null && step.decision === undefined) screen.block(resultLines(screen, result), 'cyan');
}

/** @param {import('./screen.mjs').Screen} screen @param {string} result */
export function resultLines(screen, result) {
  return excerpt(wrap(result, screen.textWidth).join('\n'), { lines: RESULT_LINES, width: screen.textWidth });
}

/** @param {import('./screen.mjs').Screen} screen @param {StepView} step */
export const titleOf = (screen, step) => screen.paint('bold', step.title);
