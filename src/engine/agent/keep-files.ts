import { keepStep } from '../../tools/index.js';
import type { Session } from './session.js';

/** A person reads the trace: what a program left by the hundred is named by its first. */
const NAMED_FILES = 20;

interface Keeping {
  /** The look under way: a next one waits for it. */
  last: Promise<void>;
  /** What was left alone and is told already. */
  readonly told: Set<string>;
}

/** What happened to a file, to be told once its call has: an event's type and data. */
export type FileNews = readonly [type: 'file.written' | 'file.ignored', data: object];

const keepings = new WeakMap<Session, Keeping>();

/**
 * Stores what changed under outputs/ and files/ of the lane. It is called after every acting call, before the journal
 * calls it finished: what is recorded as done must not be lost with the worker's disk. Answers what is to be told.
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
