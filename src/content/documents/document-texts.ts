export const DOCUMENT_KINDS = ['agent', 'flow', 'eval', 'tool', 'skill', 'knowledge', 'memory'] as const;
export type DocumentKind = (typeof DOCUMENT_KINDS)[number];

interface Wish {
  readonly name: string;
  readonly description?: string | undefined;
  /** What an eval tests: `flows/<name>` or `agents/<name>`. */
  readonly target?: string | undefined;
}

type Text = (wish: Wish) => string;

const described = (description: string, rest = '') => `---\ndescription: ${JSON.stringify(description)}\n${rest}---\n`;
const titleOf = (name: string) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('-', ' ');

const agent =
  (what: string, prompt: string): Text =>
  ({ description = what }) =>
    `${described(description)}\n${prompt}\n`;

/** The texts of new documents, by kind and template. The first template of each kind is the default. */
export const DOCUMENT_TEXTS = {
  agent: {
    blank: agent(
      'Helps with whatever is asked.',
      'You do what the step asks for, briefly and exactly. Say so when something that you need is missing.',
    ),
    writer: agent('Writes texts.', 'You write in plain words and short sentences, and only what you know to be true.'),
    researcher: agent(
      'Finds things out.',
      'You look for what is known before you answer, say where each thing stands, and name what you could not find.',
    ),
    reviewer: agent(
      'Checks what others made.',
      'You look for what is wrong, missing or unclear, the worst first, each with what would mend it.',
    ),
  },
  eval: {
    blank: ({ name, target = '', description = `Cases of ${target}.` }) =>
      `${described(description, `target: ${target}\ntrigger: manual\n`)}\n## ${titleOf(name)}\n\n### Input\n\nA first input.\n\n### Expect\n\n- status: completed\n`,
  },
  tool: {
    script: ({ description = 'Says what it is given. Say here when to use it.' }) =>
      `${described(description, 'args:\n  text: What to say.\n')}\n\`\`\`python\nimport json, sys\nprint(json.load(sys.stdin)["text"])\n\`\`\`\n`,
    http: ({ description = 'Reads from an API. Say here when to use it.' }) =>
      described(description, 'base: https://api.example.com/\n'),
    mcp: ({ description = 'Tools of a server.' }) => described(description, 'url: https://mcp.example.com/mcp\n'),
  },
  skill: {
    blank: ({ name, description = 'Say here what it is for, and when to use it.' }) =>
      `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\n---\n\n# ${titleOf(name)}\n\n1. Say what to do first.\n`,
  },
  knowledge: {
    blank: ({ name, description }) =>
      `---\ntitle: ${JSON.stringify(titleOf(name))}\n${description === undefined ? '' : `description: ${JSON.stringify(description)}\n`}---\n\n# ${titleOf(name)}\n`,
  },
  memory: {
    blank: ({ name, description = titleOf(name) }) => `${described(description)}\n# ${titleOf(name)}\n`,
  },
} as const satisfies Record<Exclude<DocumentKind, 'flow'>, Readonly<Record<string, Text>>>;

export type TextKind = keyof typeof DOCUMENT_TEXTS;

/** The text of a new document; the names of all templates when the given one does not exist. */
export function documentText(kind: TextKind, template: string | undefined, wish: Wish): string | readonly string[] {
  const texts: Readonly<Record<string, Text>> = DOCUMENT_TEXTS[kind];
  const names = Object.keys(texts);
  const chosen = template ?? names[0] ?? '';
  return Object.hasOwn(texts, chosen) ? (texts[chosen]?.(wish) ?? names) : names;
}
