import type { FlowBody } from '../../contract/flows.js';
import type { Deps } from '../../deps.js';
import { audit, type RecordAnswer } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { isName } from '../../shared/ids.js';
import { Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { textBytes } from '../../shared/text-bytes.js';
import { editTree } from '../deploys/edit-source.js';
import { readFlow } from './list-documents.js';
import { flowText, type Pattern } from './patterns.js';

interface NewDocument {
  readonly workspace: string;
  readonly action: string;
  /** The name in the audit and in the commit message. */
  readonly name: string;
  readonly message: string;
  /** Its files by path, given which paths there are. Called again when another write came first. */
  readonly files: (paths: ReadonlySet<string>) => ReadonlyMap<string, string>;
  /** The answer, read in the transaction of the write. */
  readonly recordAnswer?: RecordAnswer | undefined;
}

/** Writes new files, all or none, as one commit. Refuses `conflict` where a path or its other spelling is taken. */
export async function createDocument<T extends object>(
  deps: Deps,
  caller: Caller,
  wish: NewDocument,
  answer: (sql: Sql) => Promise<T>,
): Promise<T> {
  let made: T | undefined;
  await editTree(deps, caller, {
    workspace: wish.workspace,
    message: wish.message,
    edit: async ({ tree }) => {
      const paths = new Set(tree.keys());
      const files = wish.files(paths);
      for (const path of files.keys()) refuseTaken(path, paths);
      return { remove: [], put: new Map([...files].map(([path, text]) => [path, textBytes(text)])) };
    },
    inTransaction: async (sql) => {
      await audit(sql, caller, wish.action, wish.name, { workspace: wish.workspace });
      made = await answer(sql);
      await wish.recordAnswer?.(sql, made);
    },
  });
  if (!made) throw new Error(`nothing was written for ${wish.name}`);
  return made;
}

function refuseTaken(path: string, paths: ReadonlySet<string>): void {
  const taken = [path, ...otherSpellings(path)].find((one) => paths.has(one));
  if (taken !== undefined) throw new Refusal('conflict', `${taken} is there already; choose another name`);
}

/** The other path of an agent or a tool, which may be a file or a folder, but not both. */
function otherSpellings(path: string): string[] {
  const folder = path.replace(/\/(?:agent|tool)\.md$/, '');
  if (folder !== path) return [`${folder}.md`];
  const [, start, kind] = /^((?:.*\/)?(agent|tool)s\/[^/]+)\.md$/.exec(path) ?? [];
  return start === undefined ? [] : [`${start}/${kind}.md`];
}

export function requireName(name: string): void {
  if (isName(name)) return;
  throw new Refusal('refused', 'name: lower-case words and digits joined by single hyphens, 64 characters at most', {
    code: 'invalid',
  });
}

const DOCUMENT_KINDS = ['agent', 'flow', 'eval', 'tool', 'skill', 'knowledge', 'memory'] as const;

const described = (description: string, rest = '') => `---\ndescription: ${JSON.stringify(description)}\n${rest}---\n`;

const titleOf = (name: string) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('-', ' ');

const agent =
  (what: string, prompt: string): Text =>
  ({ description = what }) =>
    `${described(description)}\n${prompt}\n`;

/** The texts of new documents, by kind and template. The first template of each kind is the default. */
const DOCUMENT_TEXTS = {
  agent: {
    blank: agent(
      'Helps with whatever is asked.',
      'You do what the step asks for, briefly and exactly. Say so when something that you need is missing.',
    ),
    writer: agent('Writes texts.', 'You write in plain words and short sentences, and only what you know to be true.'),
    researcher: agent(
      'Finds things out.',
      'You search before you answer, give the source of each fact, and name what you could not find.',
    ),
    reviewer: agent(
      'Checks what others made.',
      'You look for what is wrong, missing or unclear, the worst first, each with what would fix it.',
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

const HELPER = 'assistant';

export type DocumentKind = (typeof DOCUMENT_KINDS)[number];

interface Wish {
  readonly name: string;
  readonly description?: string | undefined;
  /** What an eval tests: `flows/<name>` or `agents/<name>`. */
  readonly target?: string | undefined;
}

type Text = (wish: Wish) => string;

type TextKind = keyof typeof DOCUMENT_TEXTS;

/** The text of a new document; the names of all templates when the given one does not exist. */
export function documentText(kind: TextKind, template: string | undefined, wish: Wish): string | readonly string[] {
  const texts: Readonly<Record<string, Text>> = DOCUMENT_TEXTS[kind];
  const names = Object.keys(texts);
  const chosen = template ?? names[0] ?? '';
  return Object.hasOwn(texts, chosen) ? (texts[chosen]?.(wish) ?? names) : names;
}

interface CreateFlowInput {
  readonly workspace: string;
  readonly name: string;
  readonly pattern: Pattern;
  readonly description?: string | undefined;
  /** The agent of its steps; the workspace's first agent when left out. */
  readonly agent?: string | undefined;
  readonly recordAnswer?: RecordAnswer | undefined;
}

/** Creates a flow from a pattern. A workspace without an agent gets one too, since each step needs an agent. */
export async function createFlow(deps: Deps, caller: Caller, input: CreateFlowInput): Promise<FlowBody> {
  const { workspace, name, pattern, description } = input;
  requireName(name);
  return createDocument(
    deps,
    caller,
    {
      workspace,
      action: 'flow.create',
      name,
      message: `Create flows/${name}`,
      files: (paths) => {
        const agents = agentsIn(paths);
        const agent = input.agent ?? agents[0] ?? HELPER;
        if (input.agent !== undefined && !agents.includes(agent))
          throw new Refusal('refused', `agent: ${agent} does not exist in this workspace`, { code: 'ref/agent' });
        const text = flowText(pattern, { agent, ...(description === undefined ? {} : { description }) });
        const files = new Map([[`flows/${name}.md`, text]]);
        if (agents.length === 0) files.set(`agents/${HELPER}.md`, DOCUMENT_TEXTS.agent.blank({ name: HELPER }));
        return files;
      },
      recordAnswer: input.recordAnswer,
    },
    (sql) => readFlow({ ...deps, db: sql }, caller, { workspace, flow: name }),
  );
}

function agentsIn(paths: ReadonlySet<string>): readonly string[] {
  const names = [...paths].flatMap((path) => /^agents\/([^/]+?)(?:\.md|\/agent\.md)$/.exec(path)?.[1] ?? []);
  return [...new Set(names)].sort();
}
