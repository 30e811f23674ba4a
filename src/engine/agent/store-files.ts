import { keepStep } from '../../tools/index.js';
import type { Session } from './session.js';

/** Maximum number of files named in the trace, since people read it. */
const NAMED_FILES = 20;

interface FileStore {
  /** The scan under way: the next one waits for it. */
  last: Promise<void>;
  /** Ignored files that are already reported. */
  readonly reported: Set<string>;
}

/** An event about a file, as type and data. It is written after its call's event. */
export type FileNews = readonly [type: 'file.written' | 'file.ignored', data: object];

const stores = new WeakMap<Session, FileStore>();

/**
 * Stores changes under outputs/ and files/ of the lane. Runs after every acting call, before the journal marks it
 * finished: recorded results must not be lost with the worker's disk. Returns the events to write.
 */
export function storeFiles(session: Session): Promise<readonly FileNews[]> {
  const store = stores.get(session) ?? { last: Promise.resolve(), reported: new Set() };
  stores.set(session, store);
  const next = store.last.then(() => storeChanges(session, store.reported));
  store.last = next.then(
    () => undefined,
    () => undefined,
  );
  return next;
}

export function recordFileEvents({ lane }: Session, news: readonly FileNews[]): void {
  for (const [type, data] of news) lane.writer.event(type, data);
}

async function storeChanges({ lane, state, context, hasFolder }: Session, reported: Set<string>): Promise<FileNews[]> {
  if (!hasFolder()) return [];
  const place = { step: state.id, item: state.item, round: state.round };
  const ignored: { readonly path: string; readonly why: string }[] = [];
  const kept = await keepStep(lane.deps, context, (path, why) => ignored.push({ path, why }));
  const news: FileNews[] = kept.map((file) => ['file.written', { ...place, ...file }]);
  for (const file of ignored) {
    if (reported.size >= NAMED_FILES || reported.has(file.path)) continue;
    reported.add(file.path);
    news.push(['file.ignored', { ...place, ...file }]);
  }
  return news;
}
