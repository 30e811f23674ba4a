import { mkdir } from 'node:fs/promises';
import { type MemoryOutcome, writeMemory } from '../../content/index.js';
import { readMemory, stampMemory } from '../../format/index.js';
import { blobId } from '../../git/index.js';
import { diffText } from '../../shared/line-diff.js';
import { Refusal } from '../../shared/refusal.js';
import type { ToolContext, ToolOutcome } from '../contract.js';
import { writeLaneFile } from '../lane/lane-files.js';
import { overlayFolder } from '../lane/overlay.js';
import { ok, toolError } from '../outcome.js';
import { decodeText } from '../text-file.js';
import { readView, type ViewDeps } from '../view.js';

/** The limits of a reported change: lines, and characters. */
const MAX_LINES = 120;

const MAX_CHARACTERS = 8_000;

interface Target {
  readonly path: string;
  readonly content: Uint8Array;
}

/** The `seen` entry of a file that was read and whose removal was reported to the run. */
const GONE = '';

/** An agent's write to its memory folder: its text, under frontmatter that the service writes. */
export async function writeToMemory(deps: ViewDeps, context: ToolContext, target: Target): Promise<ToolOutcome> {
  const { path } = target;
  if (!path.endsWith('.md')) return toolError(`${path}: a memory file is markdown, its name ends in .md`);
  const write = { ...target, seen: context.seen.get(path) || null };
  const written = await catchRefusal(() =>
    (context.run.mode === 'eval' ? writeOverlay : writeLive)(deps, context, write),
  );
  if (typeof written === 'string') return toolError(`${path} cannot be written: ${written}`);
  if (written.kind === 'written') {
    const outcome = { ...ok(`wrote ${path} (${target.content.byteLength} bytes)`), seen: [{ path, sha: written.sha }] };
    return written.changed ? { ...outcome, memoryWrite: path } : outcome;
  }
  if (write.seen === null) return toolError(`${path} exists and you have not read it: Read it first, then change it`);
  const outcome = toolError(await whatChanged(deps, context, { path, from: write.seen, to: written.sha }));
  // A removed file cannot be read again: once its removal was reported, the run may create it.
  return written.sha === null ? { ...outcome, seen: [{ path, sha: GONE }] } : outcome;
}

type Write = Target & { readonly seen: string | null };

/** Returns the message of a Refusal that the agent can act on. */
async function catchRefusal(write: () => Promise<MemoryOutcome>): Promise<MemoryOutcome | string> {
  try {
    return await write();
  } catch (error) {
    if (error instanceof Refusal && (error.kind === 'refused' || error.kind === 'too_large')) return error.message;
    throw error;
  }
}

/** Makes the new content from the current one; null for no change. */
function compose({ run, agent }: ToolContext, content: Uint8Array): (current: Uint8Array | null) => Uint8Array | null {
  const updated = new Date().toISOString();
  return (current) => {
    const before = current === null ? null : decodeText(current);
    const stamped = stampMemory(new TextDecoder().decode(content), before, { updated, by: agent.name, run: run.id });
    if (stamped === null) return null;
    if ('refused' in stamped) throw new Refusal('refused', stamped.refused);
    return Buffer.from(stamped.text, 'utf8');
  };
}

function writeLive(deps: ViewDeps, context: ToolContext, { path, content, seen }: Write): Promise<MemoryOutcome> {
  const { run, agent, guard } = context;
  return deps.db.transaction((sql) =>
    writeMemory(sql, {
      workspaceId: run.workspaceId,
      runId: run.id,
      agent: agent.name,
      compose: compose(context, content),
      path,
      seen,
      guard,
    }),
  );
}

/** An eval's run writes to its own copy under the same rules, so that nothing outlives the run. */
async function writeOverlay(
  deps: ViewDeps,
  context: ToolContext,
  { path, content, seen }: Write,
): Promise<MemoryOutcome> {
  const current = await readView(deps, context, path);
  if (typeof current === 'string') throw new Refusal('refused', current);
  const now = current?.memorySha ?? null;
  const composed = compose(context, content)(current?.content ?? null);
  if (composed === null) return { kind: 'written', sha: now ?? GONE, changed: false };
  if (now !== seen) return { kind: 'conflict', sha: now };
  await writeLaneFile({ work: await makeOverlay(context), path, content: composed, uid: undefined });
  return { kind: 'written', sha: blobId(composed), changed: true };
}

async function makeOverlay(context: ToolContext): Promise<string> {
  const folder = overlayFolder(context);
  await mkdir(folder, { recursive: true });
  return folder;
}

interface Between {
  readonly path: string;
  /** The version that the run has read. */
  readonly from: string;
  /** The current version; null for no file. */
  readonly to: string | null;
}

/** The message for a model whose memory file changed since it read it: by whom, what changed, and what to do. */
async function whatChanged(deps: ViewDeps, { run }: ToolContext, between: Between): Promise<string> {
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
