import { mkdir } from 'node:fs/promises';
import { type MemoryOutcome, writeMemory } from '../../content/index.js';
import { stampMemory } from '../../format/index.js';
import { blobId } from '../../git/index.js';
import { Refusal } from '../../shared/refusal.js';
import type { ToolContext, ToolOutcome } from '../contract.js';
import { writeLaneFile } from '../lane/lane-files.js';
import { overlayFolder } from '../lane/overlay.js';
import { ok, toolError } from '../outcome.js';
import { decodeText } from '../text-file.js';
import { readView, type ViewDeps } from '../view.js';
import { whatChanged } from './what-changed.js';

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
  const written = await orRefused(() => (context.run.mode === 'eval' ? writeOverlay : writeLive)(deps, context, write));
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

/** A Refusal's sentence: the agent can do something about it. */
async function orRefused(write: () => Promise<MemoryOutcome>): Promise<MemoryOutcome | string> {
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
