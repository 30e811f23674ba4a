import type { Deps } from '../../deps.js';
import { isHeading } from '../../workspace/index.js';
import { listRunFiles, readRunFile } from '../../workspaces/index.js';

const DOCUMENT_CHARACTERS = 60_000;

export interface Pinned {
  readonly workspaceId: string;
  readonly revision: string;
}

/**
 * A document that a link hands over: a file (`.md` may be left out), one section of it by heading, or the index of
 * a folder. Null when there is nothing of that name.
 */
export async function readLink(
  deps: Deps,
  pinned: Pinned,
  link: { readonly target: string; readonly heading?: string },
): Promise<{ readonly title: string; readonly text: string } | null> {
  for (const path of [link.target, `${link.target}.md`]) {
    const file = path.endsWith('/') ? null : await readRunFile(deps, pinned, path);
    if (!file) continue;
    const text = withoutFrontmatter(new TextDecoder().decode(file.content));
    const part = link.heading === undefined ? text : section(text, link.heading);
    if (part !== null) return { title: link.heading ? `${path}#${link.heading}` : path, text: cut(part) };
  }
  return folderIndex(deps, pinned, link.target.replace(/\/$/, ''));
}

async function folderIndex(
  deps: Deps,
  pinned: Pinned,
  folder: string,
): Promise<{ title: string; text: string } | null> {
  const files = (await listRunFiles(deps, pinned)).filter((file) => file.path.startsWith(`${folder}/`));
  if (files.length === 0) return null;
  return { title: `${folder}/`, text: files.map((file) => `- ${file.path} (${file.size} bytes)`).join('\n') };
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
