import { readMemory } from '../../format/index.js';
import { diffText } from '../../shared/line-diff.js';
import type { ToolContext } from '../contract.js';
import { decodeText } from '../text-file.js';
import type { ViewDeps } from '../view.js';

/** The limits of a reported change: lines, and characters. */
const MAX_LINES = 120;
const MAX_CHARACTERS = 8_000;

interface Between {
  readonly path: string;
  /** What the run has read. */
  readonly from: string;
  /** What is there now; null for no file. */
  readonly to: string | null;
}

/** The message for a model whose memory file changed since it read it: by whom, what changed, and what to do. */
export async function whatChanged(deps: ViewDeps, { run }: ToolContext, between: Between): Promise<string> {
  const { path, from, to } = between;
  const who = await lastWriter(deps, run, path);
  if (to === null) return `${path} was removed${who} since you read it: Write it again only if it should be there`;
  const lines = await diffOf(deps, run.workspaceId, from, to);
  const what = lines === '' ? '' : ` What changed:\n${lines}\n`;
  return `${path} was changed${who} since you read it.${what} Read it again, then make your change on what it says now`;
}

/** The text of a memory file, without its time and author. */
function wordsOf(text: string): string {
  const parts = readMemory(text);
  if (typeof parts === 'string') return text;
  return parts.description === null ? parts.body : `description: ${parts.description}\n${parts.body}`;
}

async function lastWriter({ db }: ViewDeps, run: ToolContext['run'], path: string): Promise<string> {
  const [change] = await db.query<{ via: string; label: string; runId: string | null }>({
    name: 'last-writer',
    text: `SELECT via, by->>'label' AS label, run_id AS "runId" FROM change
      WHERE workspace_id = $1 AND paths @> ARRAY[$2] AND refused IS NULL ORDER BY seq DESC LIMIT 1`,
    values: [run.workspaceId, path],
  });
  if (!change) return '';
  if (change.via !== 'agent') return ` by ${change.label}`;
  return change.runId === run.id ? ` by ${change.label} in this run` : ` by the agent ${change.label} in another run`;
}

async function diffOf({ db }: ViewDeps, workspaceId: string, from: string, to: string): Promise<string> {
  const rows = await db.query<{ sha: string; content: Uint8Array }>({
    name: 'memory-versions',
    text: 'SELECT sha, content FROM blob WHERE workspace_id = $1 AND sha = ANY($2)',
    values: [workspaceId, [from, to]],
  });
  const textOf = (sha: string): string | null => {
    const content = rows.find((row) => row.sha === sha)?.content;
    const text = content === undefined ? null : decodeText(content);
    return text === null ? null : wordsOf(text);
  };
  const [before, after] = [textOf(from), textOf(to)];
  if (before === null || after === null) return '';
  const changed = (await diffText(before, after)).filter(({ op }) => op !== ' ');
  const shown = changed.slice(0, MAX_LINES).map(({ op, text }) => `${op} ${text}`);
  const text = shown.join('\n').slice(0, MAX_CHARACTERS);
  return changed.length > MAX_LINES || text.length === MAX_CHARACTERS ? `${text}\n…` : text;
}
