import { setImmediate } from 'node:timers/promises';
import type { TokenizerCallbacks } from 'htmlparser2';

/** How many characters of an HTML body are read, and the size of a chunk. */
const MAX_HTML = 1_000_000;
const CHUNK = 64 * 1024;

const HIDDEN = new Set(['head', 'script', 'style', 'template', 'title', 'svg']);
const BLOCKS = new Set(
  'address article aside blockquote dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section table tr ul'.split(
    ' ',
  ),
);
const BREAKS: Readonly<Record<string, string>> = { br: '\n', li: '\n- ', td: ' ', th: ' ' };

/** The text of an HTML body, for a mail without plain text: each paragraph and list item gets its own line. */
export async function htmlText(html: string): Promise<string> {
  // Imported on demand, since most mails do not need it. Only the tokenizer: the parser takes quadratic time in the
  // depth.
  const { Tokenizer } = await import('htmlparser2');
  const read = html.slice(0, MAX_HTML);
  const out = { text: '' };
  const tokenizer = new Tokenizer({ decodeEntities: true }, callbacksOf(read, out));
  for (let at = 0; at < read.length; at += CHUNK) {
    tokenizer.write(read.slice(at, at + CHUNK));
    await setImmediate();
  }
  tokenizer.end();
  return tidy(out.text);
}

function callbacksOf(html: string, out: { text: string }): TokenizerCallbacks {
  /** The open element whose text is not shown. */
  let hidden: string | null = null;
  const add = (text: string): void => {
    if (hidden === null) out.text += text;
  };
  const ignore = (): void => undefined;
  return {
    ontext: (start, end) => add(html.slice(start, end).replace(/\s+/g, ' ')),
    ontextentity: (point) => add(String.fromCodePoint(point)),
    onopentagname: (start, end) => {
      const name = html.slice(start, end).toLowerCase();
      // Elements may be left open: the body ends whatever came before it.
      if (name === 'body') hidden = null;
      if (HIDDEN.has(name)) hidden ??= name;
      else add(BREAKS[name] ?? (BLOCKS.has(name) ? '\n\n' : ''));
    },
    onclosetag: (start, end) => {
      const name = html.slice(start, end).toLowerCase();
      if (name === hidden) hidden = null;
      else if (BLOCKS.has(name)) add('\n\n');
    },
    onselfclosingtag: () => {
      if (hidden === 'svg') hidden = null;
    },
    ...{ onattribdata: ignore, onattribend: ignore, onattribentity: ignore, onattribname: ignore, oncdata: ignore },
    ...{
      oncomment: ignore,
      ondeclaration: ignore,
      onend: ignore,
      onopentagend: ignore,
      onprocessinginstruction: ignore,
    },
  };
}

/** One blank line between paragraphs, and no blanks around a line. */
function tidy(text: string): string {
  const lines = text.split('\n').map((line) => line.replace(/[^\S\n]+/g, ' ').trim());
  return lines
    .filter((line, at) => line !== '' || (at > 0 && lines[at - 1] !== ''))
    .join('\n')
    .trim();
}
