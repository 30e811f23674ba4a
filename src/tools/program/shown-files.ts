import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { listRunFiles, readRunBlobs } from '../../content/index.js';
import { isRecord } from '../../shared/json.js';
import type { ToolContext } from '../contract.js';
import { readLaneFile } from '../lane/lane-files.js';
import { listLaneFiles } from '../lane/list-lane-files.js';
import { shownFolder } from '../lane/open-lane.js';
import { overlayFolder } from '../lane/overlay.js';
import { MAX_READ, type ViewDeps } from '../view.js';

/** Serializes the preparations of a lane, since its programs may start together. */
const preparing = new Map<string, Promise<unknown>>();

/**
 * The folder that programs see as /workspace: knowledge, memory, skills, tools, the agent's own and the library's. Pinned
 * files are written once, memory follows what is live. Programs see it read-only; only the worker writes here.
 */
export async function prepareShown(deps: ViewDeps, context: ToolContext): Promise<string> {
  const target = shownFolder(context.folder.root);
  const before = preparing.get(target) ?? Promise.resolve();
  const mine = before.then(
    () => bringUpToDate(deps, context, target),
    () => bringUpToDate(deps, context, target),
  );
  preparing.set(target, mine);
  try {
    await mine;
    return target;
  } finally {
    if (preparing.get(target) === mine) preparing.delete(target);
  }
}

async function bringUpToDate(deps: ViewDeps, context: ToolContext, target: string): Promise<void> {
  const { run, agent } = context;
  const all = await listRunFiles(deps, run);
  const wanted = new Map(all.filter(({ path }) => isShown(path, agent.name)).map(({ path, sha }) => [path, sha]));
  const state = await readState(target);
  const changed = [...wanted].filter(([path, sha]) => state.get(path) !== sha);
  const blobs = await readRunBlobs(
    deps,
    run,
    changed.map(([, sha]) => sha),
  );
  await makeFolder(target, target);
  for (const [path, sha] of changed) await writeShown(target, path, blobs.get(sha) ?? new Uint8Array());
  for (const path of state.keys()) if (!wanted.has(path)) await rm(join(target, path), { force: true });
  await showOverlay(context, target);
  if (changed.length > 0 || state.size !== wanted.size) await writeState(target, wanted);
}

/** The workspace's shared folders, and the agent's own. */
function isShown(path: string, agent: string): boolean {
  return (
    /^(knowledge|memory|skills|tools|library|\.agents\/skills)\//.test(path) ||
    (path.startsWith(`agents/${agent}/`) && /^agents\/[^/]+\/(knowledge|memory|skills|tools)\//.test(path))
  );
}

async function showOverlay(context: ToolContext, target: string): Promise<void> {
  const overlay = overlayFolder(context);
  for (const { path } of (await listLaneFiles(overlay, ['memory'])).files) {
    const file = await readLaneFile(overlay, path, MAX_READ);
    if (file?.content) await writeShown(target, path, file.content);
  }
}

/**
 * Renames the file into place, since a program may be reading the folder. Readable by all, since programs may run as
 * another user.
 */
async function writeShown(target: string, path: string, content: Uint8Array): Promise<void> {
  const file = join(target, path);
  await makeFolder(target, dirname(file));
  const temporary = join(target, '..', 'shown.new');
  await writeFile(temporary, content);
  await chmod(temporary, 0o755);
  await rename(temporary, file);
}

async function makeFolder(target: string, folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  for (let made = folder; made.length >= target.length; made = dirname(made)) await chmod(made, 0o755);
}

async function readState(target: string): Promise<Map<string, string>> {
  const text = await readFile(`${target}.json`, 'utf8').catch(() => '{}');
  const value: unknown = JSON.parse(text);
  return new Map(isRecord(value) ? (Object.entries(value) as [string, string][]) : []);
}

async function writeState(target: string, state: ReadonlyMap<string, string>): Promise<void> {
  await writeFile(`${target}.json.new`, JSON.stringify(Object.fromEntries(state)));
  await rename(`${target}.json.new`, `${target}.json`);
}
