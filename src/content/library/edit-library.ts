import type { LibraryCreatedBody, LibraryEditBody } from '../../contract/library.js';
import type { Deps } from '../../deps.js';
import { blobId } from '../../git/index.js';
import type { RecordAnswer } from '../../people/index.js';
import { encodeContent } from '../../shared/file-content.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { checkPrecondition, type Precondition } from '../deploys/preconditions.js';
import { changeLibrary, type LibraryResult } from './change-library.js';
import { fileOf, type LibraryKind, pathIn, readLibraryFile } from './read-library.js';

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

interface NewDocument {
  readonly kind: LibraryKind;
  /** Determines the path when none is given. */
  readonly name?: string | undefined;
  readonly path?: string | undefined;
  /** When left out, the template's. */
  readonly content?: Uint8Array | undefined;
  readonly template?: string | undefined;
  readonly recordAnswer?: RecordAnswer | undefined;
}

/** Creates a document in the library. Refuses `conflict` when the path is taken. */
export async function createLibraryFile(deps: Deps, caller: Caller, input: NewDocument): Promise<LibraryCreatedBody> {
  const { kind, name, template, recordAnswer } = input;
  const path = placeOf(input);
  if (input.content !== undefined && template !== undefined)
    throw new Refusal('refused', 'give content or a template, not both', { code: 'invalid' });
  const content = input.content ?? fromTemplate(kind, name ?? nameIn(path), template);
  let made: Omit<LibraryCreatedBody, keyof LibraryResult> | undefined;
  const result = await changeLibrary(deps, caller, {
    action: 'library.create',
    target: path,
    message: `Add ${path}`,
    via: 'edit',
    edit: (files) => {
      if (files.has(path)) throw new Refusal('conflict', `${path} is in the library already; change it with PUT`);
      return new Map<string, Uint8Array | { readonly sha: string }>(files).set(path, content);
    },
    inTransaction: async (sql) => {
      const {
        sha,
        size,
        writtenBy,
        updatedAt,
        content: bytes,
      } = await readLibraryFile({ db: sql }, caller, { kind, path });
      made = { path, sha, size, writtenBy, updatedAt, ...encodeContent(bytes) };
    },
    recordAnswer: recordAnswer && ((sql, answer) => recordAnswer(sql, { ...(answer as object), ...made })),
  });
  if (made === undefined) throw new Error(`nothing was written for ${path}`);
  return { ...result, ...made };
}

function placeOf({ kind, name, path }: NewDocument): string {
  if (path !== undefined) return pathIn(kind, path);
  if (name !== undefined) return fileOf(kind, name);
  throw new Refusal('refused', 'give a name, or a path', { code: 'invalid' });
}

/** `crm` of tools/crm.md and of skills/crm/SKILL.md. */
function nameIn(path: string): string {
  const [, name = path] = /([^/]+?)(?:\/(?:tool|SKILL))?(?:\.[^/.]+)?$/.exec(path) ?? [];
  return name;
}

interface Target {
  readonly kind: LibraryKind;
  readonly path: string;
  readonly expect: Precondition;
}

export async function writeLibraryFile(
  deps: Deps,
  caller: Caller,
  { kind, path: given, content, expect }: Target & { readonly content: Uint8Array },
): Promise<LibraryEditBody> {
  const path = pathIn(kind, given);
  const result = await changeLibrary(deps, caller, {
    action: 'library.write',
    target: path,
    message: `Edit ${path}`,
    via: 'edit',
    edit: (files) => {
      checkPrecondition(path, files.get(path)?.sha ?? null, expect);
      return new Map<string, Uint8Array | { readonly sha: string }>(files).set(path, content);
    },
  });
  return { ...result, path, sha: blobId(content) };
}

/** Removes one file, or a folder with all its files, such as a skill. */
export async function removeLibraryFile(
  deps: Deps,
  caller: Caller,
  { kind, path: given, expect }: Target,
): Promise<LibraryEditBody> {
  const path = pathIn(kind, given);
  const result = await changeLibrary(deps, caller, {
    action: 'library.remove',
    target: path,
    message: `Remove ${path}`,
    via: 'edit',
    edit: (files) => {
      const left = new Map([...files].filter(([one]) => one !== path && !one.startsWith(`${path}/`)));
      if (left.size === files.size) throw notFound('file');
      checkPrecondition(path, files.get(path)?.sha ?? null, expect);
      return left;
    },
  });
  return { ...result, path, sha: null };
}

type Template = (name: string) => string;

function fromTemplate(kind: LibraryKind, name: string, wanted: string | undefined): Uint8Array {
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
