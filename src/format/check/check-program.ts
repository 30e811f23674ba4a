import { extname } from 'node:path';
import { findInterpreter, KNOWN_LANGUAGES } from '../../shared/interpreters.js';
import type { Found } from '../resolve/catalog.js';
import type { Report } from './report.js';

const HINT = `Write it in ${KNOWN_LANGUAGES}, or name a file that begins with a \`#!\` line in \`run:\`.`;

/** The code block of a script tool says how it is run: a call of another one fails each time. */
export function checkLanguage(tool: Found<'tool'>, report: Report): void {
  const { program } = tool.model;
  if (program === undefined || findInterpreter(program.language) !== null) return;
  const what = program.language === '' ? 'A code block without a language' : `A code block of \`${program.language}\``;
  report(tool, 0, { code: 'tool/bad-value', message: `${what} cannot be run.`, hint: HINT });
}

/** The same of a file: by the end of its name, or by its first line. */
export function checkStart(
  tool: Found<'tool'>,
  { name, offset, content }: { readonly name: string; readonly offset: number; readonly content: Uint8Array },
  report: Report,
): void {
  if (findInterpreter(extname(name).slice(1)) !== null || (content[0] === 0x23 && content[1] === 0x21)) return;
  report(tool, offset, { code: 'tool/bad-value', message: `\`run\`: \`${name}\` cannot be run.`, hint: HINT });
}
