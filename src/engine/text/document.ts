import { listRunFiles, type RunView, readRunFile } from '../../content/index.js';
import type { Deps } from '../../deps.js';
import { isHeading, pathIndex, resolveLink } from '../../format/index.js';

const DOCUMENT_CHARACTERS = 60_000;
/** An empty live index: `listRunFiles` already lists all of the run's files. */
const NOTHING = pathIndex([]);

export interface Link {
  readonly target: string;
  readonly heading?: string;
  /** The agent whose own documents take precedence. */
  readonly agent?: string | undefined;
}

export interface LinkedDocument {
  /** Of the file, or of the folder with a trailing slash. */
  readonly path: string;
  readonly title: string;
  readonly text: string;
}

/**
 * The document of a link: a file (`.md` may be left out), one section of it by heading, or the index of a folder; the
 * nearest wins. Null when nothing has that name.
 */
export async function readLink(deps: Deps, run: RunView, link: Link): Promise<LinkedDocument | null> {
  const files = await listRunFiles(deps, run);
  const found = resolveLink(pathIndex(files.map(({ path }) => path)), NOTHING, link);
  if (found.kind === 'folder') {
    const inside = files.filter(({ path }) => path.startsWith(`${found.path}/`));
    const path = `${found.path}/`;
    return { path, title: path, text: inside.map(({ path, size }) => `- ${path} (${size} bytes)`).join('\n') };
  }
  const file = found.kind === 'file' ? await readRunFile(deps, run, found.path) : null;
  if (found.kind !== 'file' || !file) return null;
  const text = withoutFrontmatter(new TextDecoder().decode(file.content));
  const part = link.heading === undefined ? text : section(text, link.heading);
  if (part === null) return null;
  const title = link.heading ? `${found.path}#${link.heading}` : found.path;
  return { path: found.path, title, text: cut(part) };
}

export function withoutFrontmatter(text: string): string {
  return text.replace(/^\uFEFF?---\r?\n[\s\S]*?\r?\n---[ \t]*(\r?\n|$)/, '').trim();
}

/** From the heading (matched by text or slug) to the next one of its rank; null when there is none. */
export function section(text: string, heading: string): string | null {
  const lines = text.split(/\r?\n/);
  let fence: string | null = null;
  let from = -1;
  let rank = 0;
  for (const [index, line] of lines.entries()) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark && (fence === null || (mark.startsWith(fence) && line.trim() === mark)))
      fence = fence === null ? mark : null;
    const match = fence === null ? /^(#{1,6})\s+(.*?)\s*#*$/.exec(line) : null;
    if (!match) continue;
    const depth = match[1]?.length ?? 0;
    if (from >= 0 && depth <= rank) return lines.slice(from, index).join('\n').trim();
    if (from < 0 && isHeading(match[2] ?? '', heading)) {
      from = index;
      rank = depth;
    }
  }
  return from < 0 ? null : lines.slice(from).join('\n').trim();
}

function cut(text: string): string {
  return text.length <= DOCUMENT_CHARACTERS
    ? text
    : `${text.slice(0, DOCUMENT_CHARACTERS)}\n[cut: the document is longer; read it]`;
}
