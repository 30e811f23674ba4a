import { readFileSync } from 'node:fs';
import { cut } from './format.mjs';

const LOG_LINES = 15;
const LINE_CHARACTERS = 300;

/**
 * Which part failed, why, where its log is, and how the log ends.
 * @param {import('./screen.mjs').Screen} screen @param {import('./part.mjs').PartError} error @param {string | null} logFile
 */
export function showFailure(screen, error, logFile) {
  screen.line(`\n${screen.paint('red', `The demo failed. Part: ${error.part}`)}`);
  screen.line(`Reason: ${error.message}`);
  if (logFile === null) return;
  screen.line(`Log: ${logFile} (the folder is kept)`);
  const lines = lastLines(logFile);
  if (lines.length > 0) screen.line('Its last lines:');
  for (const line of lines) screen.line(`  ${screen.paint('dim', line)}`);
}

/** @param {string} file */
function lastLines(file) {
  try {
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n').slice(-LOG_LINES);
    return lines.filter((line) => line !== '').map((line) => cut(line, LINE_CHARACTERS));
  } catch {
    return [];
  }
}
