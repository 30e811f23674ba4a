import { Refusal } from '../../shared/refusal.js';
import type { LibraryKind } from './read-library.js';

type Template = (name: string) => string;

const TOOL_HEAD = (name: string) => `---\nname: ${name}\ndescription: What ${name} does, and when to use it.\n`;
const script = (head: string) => (): string =>
  `${head}\n# Arguments come as JSON on standard input; the answer goes to standard output.\n`;

/** The templates of new documents. The first of each kind is the default. */
const TEMPLATES = {
  tools: {
    script: (name) =>
      `${TOOL_HEAD(name)}args:\n  text: What it works on.\n---\n\n\`\`\`python\nimport json, sys\n\nargs = json.load(sys.stdin)\nprint(args.get("text", ""))\n\`\`\`\n`,
    http: (name) => `${TOOL_HEAD(name)}base: https://api.example.com\nmethods: [GET]\n---\n\nHow to call it.\n`,
    mcp: (name) => `${TOOL_HEAD(name)}url: https://mcp.example.com/mcp\n---\n`,
  },
  skills: {
    blank: (name) =>
      `---\nname: ${name}\ndescription: What the skill does, and when to use it.\n---\n\n1. The first thing to do.\n`,
  },
  knowledge: { blank: (name) => `---\ntitle: ${name}\n---\n\nWhat everybody should know.\n` },
  memory: { blank: (name) => `---\ndescription: ${name}\n---\n` },
  scripts: {
    python: script('#!/usr/bin/env python3\nimport json, sys\n\nargs = json.load(sys.stdin)'),
    bash: script('#!/usr/bin/env bash\nset -euo pipefail'),
    node: script('#!/usr/bin/env node'),
  },
} as const satisfies Record<LibraryKind, Readonly<Record<string, Template>>>;

export function fromTemplate(kind: LibraryKind, name: string, wanted: string | undefined): Uint8Array {
  const templates = new Map(Object.entries<Template>(TEMPLATES[kind]));
  const [first = ''] = templates.keys();
  const template = templates.get(wanted ?? first);
  if (!template) {
    throw new Refusal('refused', `template: for ${kind} use ${[...templates.keys()].join(', ')}`, {
      code: 'library/no-template',
    });
  }
  return new TextEncoder().encode(template(name));
}
