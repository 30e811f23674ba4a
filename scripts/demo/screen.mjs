import { clean, cut } from './format.mjs';

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 };
const INDENT = '            ';
const NARROW = 40;
const WIDE = 110;

/** @typedef {keyof typeof CODES} Colour @typedef {ReturnType<typeof createScreen>} Screen */

/**
 * Lines for a person. On a terminal with colours, and with one line at the bottom that shows what is said right now;
 * elsewhere, or with NO_COLOR, plain.
 * @param {import('node:tty').WriteStream} out @param {NodeJS.ProcessEnv} env
 */
export function createScreen(out, env) {
  const isTerminal = out.isTTY === true && env.TERM !== 'dumb';
  const colours = isTerminal && !env.NO_COLOR;
  const width = Math.max(NARROW, Math.min(out.columns || WIDE, WIDE));
  let hasLive = false;

  const wipe = () => {
    if (hasLive) out.write('\r\u001b[2K');
    hasLive = false;
  };
  /** @param {Colour} colour @param {string} text */
  const paint = (colour, text) => (colours ? `\u001b[${CODES[colour]}m${text}\u001b[0m` : text);

  return {
    /** How wide an indented text may be. */
    textWidth: width - INDENT.length - 1,
    paint,
    /** @param {string} [text] */
    line(text = '') {
      wipe();
      out.write(`${text}\n`);
    },
    /** @param {string} title */
    heading(title) {
      this.line(`\n${paint('bold', title)}`);
    },
    /** @param {string} text */
    done(text) {
      this.line(`  ${paint('green', '✓')} ${text}`);
    },
    /** Indented lines below another. @param {readonly string[]} texts @param {Colour} [colour] */
    block(texts, colour = 'dim') {
      for (const text of texts) this.line(text === '' ? '' : `${INDENT}${paint(colour, text)}`);
    },
    /** What happens right now; the next line takes its place. @param {string} text */
    live(text) {
      if (!isTerminal) return;
      wipe();
      out.write(paint('dim', cut(clean(text).replaceAll('\n', ' '), width - 1)));
      hasLive = true;
    },
    wipe,
  };
}
