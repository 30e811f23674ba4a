import { listRunFiles, readRunFile } from '../content/index.js';
import type { Deps } from '../deps.js';
import { blobId } from '../git/index.js';
import type { ToolContext } from './contract.js';
import { readLaneFile } from './lane/lane-files.js';
import { listLaneFiles } from './lane/list-lane-files.js';
import { overlayFolder } from './lane/overlay.js';

export type ViewDeps = Pick<Deps, 'db' | 'blobs'>;

/** Longer files are not read into a worker's memory as a whole. */
export const MAX_READ = 16 * 1_048_576;

export interface ViewFile {
  readonly content: Uint8Array;
  /** The sha of a memory file, which a later change must have seen. */
  readonly memorySha: string | null;
}

type Source = (deps: ViewDeps, context: ToolContext, path: string) => Promise<ViewFile | string | null>;

/** Where files live, by the first folder of their path; all others are the workspace's pinned files. */
const SOURCES: Readonly<Record<string, Source>> = {
  outputs: fromLane,
  files: fromLane,
  saved: fromSaved,
  steps: async (_deps, { results, oldIds }, path) => {
    const id = path.slice('steps/'.length).replace(/\.md$/, '');
    const result = results.get(oldIds?.get(id) ?? id);
    return result === undefined ? null : { content: Buffer.from(result, 'utf8'), memorySha: null };
  },
  memory: fromMemory,
};

/** A file of the workspace as this step sees it; null when there is none, a sentence when it cannot be read. */
export async function readView(deps: ViewDeps, context: ToolContext, path: string): Promise<ViewFile | string | null> {
  const [folder = ''] = path.split('/');
  const source = Object.hasOwn(SOURCES, folder) ? SOURCES[folder] : undefined;
  return (source ?? fromRun)(deps, context, path);
}

/** All paths of the view, in order, with their sizes in bytes. */
export async function listView(deps: ViewDeps, context: ToolContext): Promise<ReadonlyMap<string, number>> {
  const stored = await listRunFiles(deps, context.run);
  const lane = await listLaneFiles(context.folder.work, ['outputs', 'files']);
  const overlay = await listLaneFiles(overlayFolder(context), ['memory']);
  const paths = new Map<string, number>();
  for (const { path, size } of stored) paths.set(path, size);
  for (const { path, stat } of [...lane.files, ...overlay.files]) paths.set(path, stat.size);
  for (const [id, result] of context.results) paths.set(`steps/${id}.md`, Buffer.byteLength(result));
  return new Map([...paths].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Long results are files of the lane; those that a compaction removed are in the run's transcript. */
async function fromSaved(_deps: ViewDeps, context: ToolContext, path: string): Promise<ViewFile | string | null> {
  const text = await context.saved?.(path);
  if (typeof text === 'string') return { content: Buffer.from(text, 'utf8'), memorySha: null };
  return laneFile(context.folder.work, `.${path}`);
}

async function fromRun(deps: ViewDeps, context: ToolContext, path: string): Promise<ViewFile | null> {
  const file = await readRunFile(deps, context.run, path);
  return file && { content: file.content, memorySha: null };
}

/** Files that another run left under outputs/<agent>/, and those too big for the lane, are read from the store. */
async function fromLane(deps: ViewDeps, context: ToolContext, path: string): Promise<ViewFile | string | null> {
  return (await laneFile(context.folder.work, path)) ?? (await fromRun(deps, context, path));
}

async function fromMemory(deps: ViewDeps, context: ToolContext, path: string): Promise<ViewFile | string | null> {
  const overlay = await laneFile(overlayFolder(context), path);
  if (overlay !== null && typeof overlay !== 'string') return { ...overlay, memorySha: blobId(overlay.content) };
  const file = await readRunFile(deps, context.run, path);
  return file && { content: file.content, memorySha: file.sha };
}

async function laneFile(root: string, path: string): Promise<ViewFile | string | null> {
  const file = await readLaneFile(root, path, MAX_READ).catch(unlessNoRoot);
  if (file === null) return null;
  return file.content === null ? file.why : { content: file.content, memorySha: null };
}

function unlessNoRoot(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === 'EISDIR') return null;
  throw error;
}
