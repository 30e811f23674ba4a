import type { Json } from '../../../shared/json.js';
import type { Entry } from '../session.js';
import type { CallSign } from '../stuck.js';
import { type Shown, showEntries } from './apply.js';

/** What the transcript no longer shows, but the loop's rules still count. */
export interface Past extends Shown {
  /** Number of compactions so far. */
  readonly epoch: number;
  /** The seq of the newest compaction; -1 before the first. Usage reported before it does not apply. */
  readonly since: number;
  readonly turns: number;
  readonly counts: Readonly<Record<'repair' | 'nudge', number>>;
  /** The newest of the calls that are in the summary. */
  readonly trail: readonly CallSign[];
  readonly factor: number;
  /** The turn whose call the provider refused as too long: it is compacted once. */
  readonly overflowAt: number | null;
}

export const NO_PAST: Past = {
  epoch: 0,
  since: -1,
  from: 0,
  elide: 0,
  cuts: [],
  turns: 0,
  counts: { repair: 0, nudge: 0 },
  trail: [],
  factor: 1,
  overflowAt: null,
};

/** The fields of a transcript's row that the session needs. */
export interface MessageRow {
  readonly seq: number;
  readonly epoch?: number;
  readonly role: string;
  readonly content: Json;
}

/**
 * The message that starts an epoch: the summary, and in `past` what a later attempt needs to rebuild the same view of
 * the transcript.
 */
export type MarkerEntry = Extract<Entry, { role: 'user' }> & { readonly past: Omit<Past, 'epoch' | 'since'> };

const HEAD = 'Your earlier turns are no longer shown. Your summary of them:';

export function markerText(summary: string): string {
  return summary === '' ? '' : `${HEAD}\n\n${summary}`;
}

/**
 * The transcript as the model gets it, from its rows in order: what the newest compaction left, and what was added
 * since.
 */
export function readTranscript(rows: readonly MessageRow[]): { readonly messages: Entry[]; readonly past: Past } {
  const entries = rows.map((row) => ({ role: row.role, ...(row.content as object), seq: row.seq }) as Entry);
  const at = entries.findLastIndex((entry) => entry.why === 'compacted');
  const marker = entries[at] as MarkerEntry | undefined;
  if (!marker) return { messages: entries, past: NO_PAST };
  const { past: stored, ...summary } = marker;
  const past = { ...NO_PAST, ...stored, epoch: rows[at]?.epoch ?? 1, since: marker.seq ?? 0 };
  return { messages: compacted(summary, entries, past), past };
}

/** The summary, if there is one, and the messages that stay. */
export function compacted(summary: Entry, entries: readonly Entry[], shown: Shown): Entry[] {
  const hasText = summary.role === 'user' && summary.text !== '';
  return [...(hasText ? [summary] : []), ...showEntries(entries, shown)];
}
