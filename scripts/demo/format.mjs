/** @param {number} ms */
export const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

/** A cost as people read it: cents, or as many digits as a small one needs. @param {number} usd */
export function dollars(usd) {
  if (usd === 0 || usd >= 0.01) return `$${usd.toFixed(2)}`;
  return usd < 0.00001 ? '< $0.00001' : `$${usd.toFixed(5)}`;
}

/**
 * The first lines of a text, each cut to the width, and how many were left out.
 * @param {string} text @param {{ lines: number, width: number }} limit
 */
export function excerpt(text, { lines, width }) {
  const all = clean(text)
    .trim()
    .replace(/\n{3,}/g, '\n\n')
    .split('\n');
  const shown = all.slice(0, lines).map((line) => cut(line, width));
  const left = all.length - shown.length;
  return left > 0 ? [...shown, `… ${left} more ${left === 1 ? 'line' : 'lines'}`] : shown;
}

/** Breaks a text's long lines between words. @param {string} text @param {number} width */
export function wrap(text, width) {
  return clean(text)
    .trim()
    .split('\n')
    .flatMap((line) => {
      const rows = [''];
      for (const word of line.split(' ')) {
        const row = rows.at(-1) ?? '';
        if (row !== '' && row.length + word.length + 1 > width) rows.push(word);
        else rows[rows.length - 1] = row === '' ? word : `${row} ${word}`;
      }
      return rows.map((row) => cut(row, width));
    });
}

/** @param {string} line @param {number} width */
export const cut = (line, width) => (line.length <= width ? line : `${line.slice(0, Math.max(1, width - 1))}…`);

/** What agents and programs say must not steer the terminal. @param {string} text */
export const clean = (text) => text.replace(/\t/g, '  ').replace(/[^\P{Cc}\n]/gu, '');

/** A markdown file as people read it. @param {string} text */
export const withoutFrontmatter = (text) => text.replace(/^---\n[\s\S]*?\n---\n/, '');
