/** A spelling of another language, and how to write it in CEL. `write` ends the sentence. */
interface Foreign {
  readonly pattern: RegExp;
  readonly write: string;
}

/** In the order of the search. Strings in the source are blanked first. */
const SPELLINGS: readonly Foreign[] = [
  { pattern: /\{\{|\}\}/, write: 'write the path without braces, like `input.order`' },
  { pattern: /\$\{/, write: 'write the path without `${…}`, like `input.order`' },
  { pattern: /===/, write: 'write `==`' },
  { pattern: /!==/, write: 'write `!=`' },
  { pattern: /<>|=\//, write: 'write `!=`' },
  { pattern: /=>/, write: 'name the item before the condition, like `input.items.exists(x, x.price > 5)`' },
  { pattern: /:=|(?<![=!<>])=(?![=>~])/, write: 'write `==`' },
  { pattern: /=~|!~/, write: 'write `input.text.matches("^a")`' },
  { pattern: /\?\?|\?\./, write: 'write `has(input.a) ? input.a : "else"`' },
  { pattern: /(?<![.\w])\band\b|(?<!&)&(?!&)/i, write: 'write `&&`' },
  { pattern: /(?<![.\w])\bor\b|(?<!\|)\|(?!\|)/i, write: 'write `||`' },
  { pattern: /(?<![.\w])\bnot\s+in\b/i, write: 'write `!(x in list)`' },
  { pattern: /(?<![.\w])\bis\s+not\b/i, write: 'write `!=`' },
  { pattern: /(?<![.\w])\bnot\b/i, write: 'write `!`' },
  { pattern: /(?<![.\w])\b(?:is|eq|equals)\b(?=\s)/i, write: 'write `==`' },
  { pattern: /(?<![.\w])\bne\b(?=\s)/i, write: 'write `!=`' },
  { pattern: /(?<![.\w])\b(?:if|then|else|unless)\b/i, write: 'write `condition ? a : b`' },
  { pattern: /\.\.\.|(?<![.\w])for\b/, write: 'write `input.items.map(x, x.price)`' },
  { pattern: /`/, write: 'put text in `"` or `\'`' },
  { pattern: /;/, write: 'write one expression without an end mark' },
  { pattern: /\*\*|\^/, write: 'CEL has no powers: write a product' },
];

/** The first spelling of another language in source that does not parse, with its offset; null when none is known. */
export function foreignSpelling(source: string): { readonly message: string; readonly offset: number } | null {
  const bare = withoutStrings(source);
  for (const { pattern, write } of SPELLINGS) {
    const found = pattern.exec(bare);
    if (found) return { message: `\`${found[0]}\` is not CEL: ${write}`, offset: found.index };
  }
  return null;
}

/** Blanks texts, so that offsets stay the same. */
function withoutStrings(source: string): string {
  return source.replace(/"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g, (text) => {
    return text.length < 3 ? text : `${text[0]}${'_'.repeat(text.length - 2)}${text[0]}`;
  });
}

/** Functions and methods of other languages. */
const FUNCTIONS: Readonly<Record<string, string>> = {
  ...all(
    'includes include has_key indexOf index find_index',
    '`text.contains("a")` for text, `"a" in list` for a list',
  ),
  ...all('length len count strlen array_length', '`size(input.items)`'),
  ...all('startswith starts_with hasPrefix begins_with', '`text.startsWith("a")`'),
  ...all('endswith ends_with hasSuffix', '`text.endsWith("a")`'),
  ...all('some any anyMatch find', '`list.exists(x, x.price > 5)`'),
  ...all('every allMatch', '`list.all(x, x.price > 5)`'),
  ...all('forEach select collect', '`list.map(x, x.price)`'),
  ...all('match test search regex re_match', '`text.matches("^a")`'),
  ...all('hasOwnProperty exists_key defined isset is_defined exist get', '`has(input.a)`'),
  ...all('str toString to_s String', '`string(x)`'),
  ...all('parseInt Integer to_i Int', '`int(x)`'),
  ...all('float parseFloat Number Float', '`double(x)`'),
  ...all('isEmpty is_empty empty', '`size(x) == 0`'),
  ...all('isNull is_null isNone', '`x == null`'),
  ...all('not', '`!x`'),
  ...all('and', '`a && b`'),
  ...all('or', '`a || b`'),
  ...all('if iif cond', '`condition ? a : b`'),
  ...all('toLowerCase lower downcase tolower toUpperCase upper', '`text.matches("(?i)^yes$")` to compare in any case'),
};

function all(names: string, write: string): Record<string, string> {
  return Object.fromEntries(names.split(' ').map((name) => [name, write]));
}

/** What to write for a function of another language. */
export function functionHint(name: string): string | undefined {
  return Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
}

const NAMES: Readonly<Record<string, string>> = {
  ...all('True TRUE yes on', '`true`'),
  ...all('not Not NOT', '`!x`'),
  ...all('False FALSE no off', '`false`'),
  ...all('None NULL Null nil undefined nothing', '`null`, or `has(input.a)` to ask whether it is there'),
};

/** What to write for a name that is a value in another language, or a text without its quotes. */
export function nameHint(name: string): string {
  const known = Object.hasOwn(NAMES, name) ? NAMES[name] : undefined;
  return known === undefined ? 'put text in quotes' : `write ${known}`;
}
