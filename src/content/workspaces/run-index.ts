import type { Deps } from '../../deps.js';
import { describeDocument, LIBRARY, layersOf } from '../../format/index.js';
import { Lru } from '../../shared/lru.js';
import { libraryId } from './library-tree.js';
import type { RunView } from './run-files.js';

/** A document as a prompt lists it. */
export interface IndexEntry {
  readonly path: string;
  /** On one line; empty when the document has none. */
  readonly description: string;
}

export interface Indexed {
  readonly memory: readonly IndexEntry[];
  readonly knowledge: readonly IndexEntry[];
}

interface File {
  readonly path: string;
  readonly sha: string;
}

/** By `<home>/<revision id>` and `<home>#<seq>`, of workspaces and libraries. Revisions are immutable. */
const revisions = new Lru<string, readonly File[]>(512);
/** By `<workspace>/<sha>`. */
const descriptions = new Lru<string, string>(20_000);

/** Enough of a document to read its frontmatter, or its first words. */
const HEAD_BYTES = 4_096;

const DOCUMENT = /^(agents\/[^/]+\/)?(memory|knowledge)\/.+\.md$/;

/**
 * The documents that an agent's prompt lists, in order: current memory, knowledge of the run's revision, those in the
 * agent's own folder, and the library's. Of each name only the one nearest to the agent.
 */
export async function listIndexed(deps: Pick<Deps, 'db'>, view: RunView, agent: string): Promise<Indexed> {
  const { workspaceId, revision, librarySeq, tenantId } = view;
  const [now] = await deps.db.query<{ seq: number; memory: readonly File[] }>({
    name: 'indexed-now',
    text: `SELECT live_seq AS seq, (SELECT coalesce(jsonb_agg(jsonb_build_object('path', path, 'sha', sha)), '[]')
        FROM memory_file WHERE workspace_id = $1) AS memory
      FROM workspace WHERE id = $1`,
    values: [workspaceId],
  });
  const pinned = await readDocuments(deps, `${workspaceId}/${revision}`, 'id = $2', [workspaceId, revision]);
  const live = now ? await readDocuments(deps, `${workspaceId}#${now.seq}`, 'seq = $2', [workspaceId, now.seq]) : [];
  const home = libraryId(tenantId);
  const shared =
    librarySeq === 0 ? [] : await readDocuments(deps, `${home}#${librarySeq}`, 'seq = $2', [home, librarySeq]);
  const isMemory = ({ path }: File): boolean => path.startsWith('memory/');
  const files = new Map(
    [
      ...pinned.filter((file) => !isMemory(file)),
      ...live.filter(isMemory),
      ...(now?.memory ?? []),
      ...shared.map(({ path, sha }) => ({ path: LIBRARY + path, sha })),
    ].map((file) => [file.path, file]),
  );
  const lists = { memory: nearest(files, agent, 'memory/'), knowledge: nearest(files, agent, 'knowledge/') };
  await describe(deps, view, [...lists.memory, ...lists.knowledge]);
  return { memory: entriesOf(view, lists.memory), knowledge: entriesOf(view, lists.knowledge) };
}

/** The documents of a folder that the agent sees, of each name the nearest one. */
function nearest(files: ReadonlyMap<string, File>, agent: string, folder: string): readonly File[] {
  const found = new Map<string, File>();
  for (const layer of layersOf(agent)) {
    const inLayer = layer + folder;
    for (const [path, file] of files) {
      const name = path.startsWith(inLayer) ? path.slice(inLayer.length) : null;
      if (name !== null && !found.has(name)) found.set(name, file);
    }
  }
  return [...found.values()];
}

function entriesOf({ workspaceId }: RunView, files: readonly File[]): IndexEntry[] {
  return files
    .map(({ path, sha }) => ({ path, description: descriptions.get(`${workspaceId}/${sha}`) ?? '' }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function readDocuments(
  deps: Pick<Deps, 'db'>,
  key: string,
  which: 'id = $2' | 'seq = $2',
  values: readonly [home: string, revision: string | number],
): Promise<readonly File[]> {
  const known = revisions.get(key);
  if (known) return known;
  const rows = await deps.db.query<File>(
    `SELECT f.key AS path, f.value->>'sha' AS sha FROM revision, jsonb_each(manifest) f WHERE workspace_id = $1 AND ${which}`,
    [...values],
  );
  return revisions.set(
    key,
    rows.filter(({ path }) => DOCUMENT.test(path)),
  );
}

/** Reads the heads of documents whose descriptions are not cached. Blobs are immutable. */
async function describe(
  deps: Pick<Deps, 'db'>,
  { workspaceId, tenantId }: RunView,
  files: readonly File[],
): Promise<void> {
  const unknown = [
    ...new Set(files.map(({ sha }) => sha).filter((sha) => descriptions.get(`${workspaceId}/${sha}`) === undefined)),
  ];
  if (unknown.length === 0) return;
  const rows = await deps.db.query<{ sha: string; head: Uint8Array }>({
    name: 'document-heads',
    text: 'SELECT sha, substring(content FROM 1 FOR $3) AS head FROM blob WHERE workspace_id = ANY($1) AND sha = ANY($2)',
    values: [[workspaceId, libraryId(tenantId)], unknown, HEAD_BYTES],
  });
  for (const { sha, head } of rows) {
    descriptions.set(`${workspaceId}/${sha}`, describeDocument(new TextDecoder().decode(head)));
  }
}
