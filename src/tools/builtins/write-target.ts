import { mkdir } from 'node:fs/promises';
import { writeMemory } from '../../deploys/index.js';
import type { Deps } from '../../deps.js';
import { blobId } from '../../git/index.js';
import { Refusal } from '../../shared/refusal.js';
import type { ToolContext, ToolOutcome } from '../contract.js';
import { writeLaneFile } from '../lane/lane-files.js';
import { overlayFolder } from '../lane/overlay.js';
import { ok, toolError } from '../outcome.js';
import { readView } from '../view.js';

export type WriteDeps = Pick<Deps, 'db' | 'blobs' | 'sandbox'>;

interface Target {
  readonly path: string;
  readonly content: Uint8Array;
}

const MAX_WRITE = 8 * 1_048_576;

/** Writes a whole file where an agent may write: outputs/, files/, and its folder of memory. */
export async function writeTarget(deps: WriteDeps, context: ToolContext, target: Target): Promise<ToolOutcome> {
  const { path, content } = target;
  if (content.byteLength > MAX_WRITE) return toolError('a file written at once holds at most 8 MiB: make it with Bash');
  const { memory } = context.agent;
  if (memory !== null && path.startsWith(memory)) return writeToMemory(deps, context, target);
  if (!/^(outputs|files)\//.test(path)) return toolError(whereToWrite(path, memory));
  try {
    await writeLaneFile({ work: context.folder.work, path, content, uid: deps.sandbox.uid });
  } catch (error) {
    const words = CANNOT[(error as NodeJS.ErrnoException).code ?? ''];
    if (words === undefined) throw error;
    return toolError(`${path} cannot be written: ${words}`);
  }
  return ok(`wrote ${path} (${content.byteLength} bytes)`);
}

/** What a program may have left in the way. */
const CANNOT: Readonly<Record<string, string>> = {
  EISDIR: 'there is a folder of this name',
  ENOTEMPTY: 'there is a folder of this name',
  EEXIST: 'there is a folder of this name',
  ENOTDIR: 'a part of the path is a file, or a link',
  ELOOP: 'a part of the path is a symbolic link',
  EACCES: 'its folder is closed',
  ENAMETOOLONG: 'the name is too long',
};

function whereToWrite(path: string, memory: string | null): string {
  const places = ['outputs/', 'files/', ...(memory === null ? [] : [memory])];
  return `${path} is not yours to write: you may write under ${places.join(', ')}`;
}

async function writeToMemory(deps: WriteDeps, context: ToolContext, target: Target): Promise<ToolOutcome> {
  const { path, content } = target;
  if (!path.endsWith('.md')) return toolError(`${path}: a memory file is markdown, its name ends in .md`);
  const seen = context.seen.get(path) ?? null;
  const written = await (context.run.mode === 'eval' ? writeOverlay : writeLive)(deps, context, { ...target, seen });
  if (typeof written === 'string') return toolError(written);
  if (written.kind === 'written') {
    const outcome = { ...ok(`wrote ${path} (${content.byteLength} bytes)`), seen: [{ path, sha: written.sha }] };
    return written.changed ? { ...outcome, memoryWrite: path } : outcome;
  }
  if (seen === null) return toolError(`${path} exists and you have not read it: Read it first, then change it`);
  const what = written.sha === null ? 'was removed' : 'was changed by someone else';
  return toolError(`${path} ${what} since you read it: Read it again, then make your change on what it says now`);
}

type Write = Target & { readonly seen: string | null };
type Written = Awaited<ReturnType<typeof writeMemory>>;

async function writeLive(deps: WriteDeps, context: ToolContext, write: Write): Promise<Written | string> {
  try {
    return await deps.db.transaction((sql) =>
      writeMemory(sql, {
        workspaceId: context.run.workspaceId,
        runId: context.run.id,
        agent: context.agent.name,
        guard: context.guard,
        ...write,
      }),
    );
  } catch (error) {
    if (error instanceof Refusal && (error.kind === 'refused' || error.kind === 'too_large')) return error.message;
    throw error;
  }
}

/** An eval's run changes nothing that outlives it: the same rules, over a copy of its own. */
async function writeOverlay(deps: WriteDeps, context: ToolContext, write: Write): Promise<Written | string> {
  const { path, content, seen } = write;
  const current = await readView(deps, context, path);
  if (typeof current === 'string') return `${path} cannot be written: ${current}`;
  const sha = blobId(content);
  if ((current?.memorySha ?? null) !== seen) return { kind: 'conflict', sha: current?.memorySha ?? null };
  if (current?.memorySha === sha) return { kind: 'written', sha, changed: false };
  await writeLaneFile({ work: await makeOverlay(context), path, content, uid: undefined });
  return { kind: 'written', sha, changed: true };
}

async function makeOverlay(context: ToolContext): Promise<string> {
  const folder = overlayFolder(context);
  await mkdir(folder, { recursive: true });
  return folder;
}
