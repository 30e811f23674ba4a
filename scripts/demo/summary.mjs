import { dollars, excerpt, seconds, withoutFrontmatter } from './format.mjs';

const MEMORY_LINES = 12;
/** @typedef {import('./event-lines.mjs').RunView} RunView */

/**
 * How it ended: each step with its time and its cost, what is remembered, what was made, and where to go from here.
 * @param {import('./screen.mjs').Screen} screen
 * @param {{ run: RunView, memory: readonly { path: string, content: string }[] }} shown
 */
export function showSummary(screen, { run, memory }) {
  screen.heading(`The run is ${run.status}: ${seconds(run.durationMs ?? 0)}, ${dollars(run.costUsd)}`);
  const width = Math.max(...run.steps.map(({ title }) => title.length));
  for (const step of run.steps) screen.line(stepLine(screen, step, width));
  for (const { path, content } of memory) {
    screen.line(`\n  ${screen.paint('green', 'Remembered')} in ${path}, with its history`);
    screen.block(excerpt(withoutFrontmatter(content), { lines: MEMORY_LINES, width: screen.textWidth }));
  }
  const files = run.steps.flatMap((step) => step.files);
  if (files.length > 0) screen.line('');
  for (const { agent, path, size } of files) {
    screen.line(`  ${screen.paint('green', 'Made')} ${path} by ${agent}, ${size} bytes, kept with the run`);
  }
}

/** @param {import('./screen.mjs').Screen} screen @param {RunView['steps'][number]} step @param {number} width */
function stepLine(screen, { n, title, status, durationMs, costUsd }, width) {
  const colour = status === 'completed' ? 'green' : status === 'failed' ? 'red' : 'dim';
  const figures = durationMs === null ? '' : `${seconds(durationMs).padStart(8)}  ${dollars(costUsd)}`;
  return `  ${n}  ${title.padEnd(width)}  ${screen.paint(colour, status.padEnd(9))}${figures}`.trimEnd();
}

/** Says first whose words these are. @param {import('./screen.mjs').Screen} screen @param {string | null} model */
export function showOpening(screen, model) {
  screen.line(`\n${screen.paint('bold', 'Signalbox demo')}: a workshop orders its parts for three weeks`);
  const real = process.env.SERVICE_SANDBOX === 'none' ? 'Temporal, Postgres' : 'Temporal, Postgres, the sandbox';
  const lines =
    model === null
      ? [
          `The agents' words are scripted; everything else is real: ${real}.`,
          'No model is called, so it costs nothing. To run it on one, set',
          'SERVICE_LLM_BASE_URL, SERVICE_LLM_API_KEY and SERVICE_LLM_MODEL.',
        ]
      : [`The agents' words come from the model ${model} (SERVICE_LLM_MODEL). All else is real too: ${real}.`];
  lines.push('The demo itself plays the people: it approves, and confirms for the supplier.');
  for (const line of lines) screen.line(screen.paint('yellow', line));
}

/** @param {import('./screen.mjs').Screen} screen */
export function showNext(screen) {
  screen.heading('Where to look next');
  screen.line('  templates/demo/   the files at work here: agents, flow, tool, scripts');
  screen.line('  npm start         the service to keep, with its data in .data');
  screen.line('  docs/             getting-started.md: your first workspace; guides/models.md: a real model');
}
