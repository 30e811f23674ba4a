/** How to run code of a language, by the name in a code fence or the extension of a file. */
const INTERPRETERS: Readonly<Record<string, { readonly argv: readonly string[]; readonly extension: string }>> = {
  python: { argv: ['python3'], extension: 'py' },
  python3: { argv: ['python3'], extension: 'py' },
  py: { argv: ['python3'], extension: 'py' },
  bash: { argv: ['bash'], extension: 'sh' },
  sh: { argv: ['bash'], extension: 'sh' },
  shell: { argv: ['bash'], extension: 'sh' },
  javascript: { argv: ['node'], extension: 'mjs' },
  js: { argv: ['node'], extension: 'mjs' },
  mjs: { argv: ['node'], extension: 'mjs' },
  cjs: { argv: ['node'], extension: 'cjs' },
  node: { argv: ['node'], extension: 'mjs' },
};

export interface Interpreter {
  readonly argv: readonly string[];
  /** The extension of the file that a fenced program is written to. */
  readonly extension: string;
}

export function findInterpreter(language: string): Interpreter | null {
  const key = language.toLowerCase();
  return Object.hasOwn(INTERPRETERS, key) ? (INTERPRETERS[key] ?? null) : null;
}

/** The known languages, for the error that refuses another. */
export const KNOWN_LANGUAGES = 'python, bash or javascript';
