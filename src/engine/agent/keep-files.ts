import { keepStep } from '../../tools/index.js';
import type { Session } from './session.js';

/** Maximum number of files named in the trace, since people read it. */
const NAMED_FILES = 20;

interface Keeping {
  /** The scan under way: the next one waits for it. */
  last: Promise<void>;
  /** Ignored files that are already reported. */
  readonly told: Set<string>;
}

/** An event about a file, as type and data. It is written after its call's event. */
export type FileNews = readonly [type: 'file.written' | 'file.ignored', data: object];

const keepings = new WeakMap<Session, Keeping>();

/**
 * Stores changes under outputs/ and files/ of the lane. Runs after every acting call, before the journal marks it
 * finished: recorded results must not be lost with the worker's disk. Returns the events to write.
 */
export function keepFiles(session: Session): Promise<readonly FileNews[]> {
  const keeping = keepings.get(session) ?? { last: Promise.resolve(), told: new Set() };
  keepings.set(session, keeping);
  const next = keeping.last.then(() => keep(session, keeping.told));
  keeping.last = next.then(
    () => undefined,
    () => undefined,
  );
  return next;
}

export function tellFiles({ lane }: Session, news: readonly FileNews[]): void {
  for (const [type, data] of news) lane.writer.event(type, data);
}

async function keep({ lane, state, context, hasFolder }: Session, told: Set<string>): Promise<FileNews[]> {
  if (!hasFolder()) return [];
  const place = { step: state.id, item: state.item, round: state.round };
  const ignored: { readonly path: string; readonly why: string }[] = [];
  const kept = await keepStep(lane.deps, context, (path, why) => ignored.push({ path, why }));
  const news: FileNews[] = kept.map((file) => ['file.written', { ...place, ...file }]);
  for (const file of ignored) {
    if (told.size >= NAMED_FILES || told.has(file.path)) continue;
    told.add(file.path);
    news.push(['file.ignored', { ...place, ...file }]);
  }
  return news;
}
