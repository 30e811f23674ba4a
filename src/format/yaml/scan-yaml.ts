import { CST, Lexer, Parser } from 'yaml';

/** No real document is this deep; deeper ones would only exhaust the stack. */
const MAX_DEPTH = 40;
/** A line of `key: value` has eight. Each costs about as much to read as any other, whatever it is. */
export const MAX_PARTS = 40_000;

export interface ScanFault {
  readonly kind: 'tag' | 'anchor' | 'alias' | 'depth' | 'parts' | 'directive';
  readonly offset: number;
  readonly text: string;
}

const MARKS: Readonly<Record<string, ScanFault['kind']>> = {
  tag: 'tag',
  anchor: 'anchor',
  alias: 'alias',
  'directive-line': 'directive',
};

/**
 * Walks the tokens, in time linear in the source, for what is refused before anything is composed. Ends at the first
 * place that nests too deep, or where there are too many parts.
 */
export function scanYaml(source: string): ScanFault[] {
  const faults: ScanFault[] = [];
  const parser = new Parser();
  let previous = '';
  let parts = 0;
  for (const lexeme of new Lexer().lex(source)) {
    // The text of a scalar is a lexeme of its own behind a control mark, and may begin with any sign.
    const kind = previous === CST.SCALAR ? undefined : MARKS[CST.tokenType(lexeme) ?? ''];
    const { offset } = parser;
    if (kind !== undefined) faults.push({ kind, offset, text: lexeme.trim().slice(0, 60) });
    for (const _token of parser.next(lexeme));
    if (parser.stack.length > MAX_DEPTH) return [...faults, { kind: 'depth', offset, text: '' }];
    parts += 1;
    if (parts > MAX_PARTS) return [...faults, { kind: 'parts', offset, text: '' }];
    previous = lexeme;
  }
  return faults;
}
