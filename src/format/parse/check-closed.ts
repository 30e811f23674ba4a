import { segments } from '../text/segments.js';
import type { OpenFile } from './open-file.js';
import { report } from './source.js';

const FENCE = /^[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]*)*(`{3,}|~{3,})/;

/** For text that is inserted unchanged (a prompt, a tool's notes): an unclosed part would swallow the text after it. */
export function checkClosed(file: OpenFile): void {
  const body = file.source.text.slice(file.bodyStart);
  for (const { kind, start, end } of segments(body)) {
    const part = body.slice(start, end);
    if (kind === 'comment' && !(part.length >= 5 && part.endsWith('-->'))) {
      const message = 'This comment is not closed; all that follows is left out.';
      report(file, file.bodyStart + start, { code: 'file/unclosed-comment', message, hint: 'End it with `-->`.' });
    }
    const fence = kind === 'code' ? FENCE.exec(part)?.[1] : undefined;
    if (fence === undefined) continue;
    const lines = part.trimEnd().split(/\r\n|\n|\r/);
    const last = lines.length > 1 ? (lines.at(-1) ?? '').replace(/^[ \t>]*/, '') : '';
    if (last.startsWith(fence) && [...last].every((char) => char === fence[0])) continue;
    const message = 'This code block is not closed; all that follows is taken for code.';
    report(file, file.bodyStart + start, {
      code: 'file/unclosed-fence',
      message,
      hint: `End it with a line of \`${fence}\`.`,
    });
  }
}
