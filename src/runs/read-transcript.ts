import { loadPlan } from '../content/index.js';
import type { TranscriptPage } from '../contract/long-runs.js';
import type { Deps } from '../deps.js';
import { leavesOf } from '../format/model.js';
import { findWorkspace } from '../people/index.js';
import type { TableRow } from '../platform/db/contract.js';
import { numberCursors } from '../shared/cursor.js';
import { isRecord, type Json } from '../shared/json.js';
import { notFound, Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { hideTokens } from './hide-tokens.js';

/** Maximum page size, whatever `limit` is: one result may have 30,000 characters, and a turn many results. */
const PAGE_BYTES = 2 * 1_048_576;

const cursors = numberCursors('transcript', 9);

export interface ReadTranscriptInput {
  readonly workspace: string;
  readonly runId: string;
  /** The step's number or id. */
  readonly step: string;
  /** Item of an each, from 1; 0 is the step itself. */
  readonly item: number;
  /** The newest round when left out. */
  readonly round?: number | undefined;
  readonly attempt?: number | undefined;
  readonly epoch?: number | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/**
 * The messages of one attempt at a step after its opening prompt, oldest first, in pages, including those that
 * compaction replaced. A message whose `why` is `compacted` starts an epoch; its text is the summary that replaced the
 * messages before it.
 */
export async function readTranscript(deps: Deps, caller: Caller, input: ReadTranscriptInput): Promise<TranscriptPage> {
  const workspace = await findWorkspace(deps.db, caller, input.workspace);
  const run = await deps.db.prisma.run.findFirst({
    select: { planId: true, parentId: true, rootId: true },
    where: { id: input.runId, workspaceId: workspace.id },
  });
  if (!run) throw notFound('run');
  const steps = leavesOf(await loadPlan(deps, workspace.id, run.planId));
  const step = steps.find(({ id, n }) => id === input.step || String(n) === input.step);
  if (!step)
    throw new Refusal(
      'refused',
      `step: this run has no step "${input.step}"; it has ${steps.length}, named by number or id`,
    );
  const place = await placeOf(deps, input, step.id);
  const base = { step: step.id, item: input.item, ...place };
  const rows = await readPage(deps, input, base);
  const last = rows.at(-1);
  const show = hideTokens(deps, caller, [input.runId, run.parentId, run.rootId]);
  return show({ ...base, messages: rows.map(toMessage), next: last?.more ? cursors.make(last.seq) : null });
}

interface Place {
  readonly round: number;
  readonly attempt: number;
}

async function placeOf(
  { db }: Deps,
  { runId, item, round, attempt }: ReadTranscriptInput,
  step: string,
): Promise<Place> {
  const row = await db.prisma.message.findFirst({
    select: { round: true, attempt: true },
    where: { runId, step, item, ...(round !== undefined && { round }), ...(attempt !== undefined && { attempt }) },
    orderBy: [{ round: 'desc' }, { attempt: 'desc' }],
  });
  return row ?? { round: round ?? 1, attempt: attempt ?? 1 };
}

type TranscriptMessage = TranscriptPage['messages'][number];

interface Row extends Pick<TableRow<'Message'>, 'seq' | 'epoch' | 'content'> {
  readonly role: TranscriptMessage['role'];
  readonly more: boolean;
}

async function readPage(
  { db }: Deps,
  { runId, epoch, limit, cursor }: ReadTranscriptInput,
  { step, item, round, attempt }: Omit<TranscriptPage, 'messages' | 'next'>,
): Promise<Row[]> {
  return db.query<Row>({
    name: 'transcript-page',
    text: `WITH page AS (SELECT seq, epoch, role, content FROM message
        WHERE run_id = $1 AND step = $2 AND item = $3 AND round = $4 AND attempt = $5 AND seq > $6
          AND ($7::int IS NULL OR epoch = $7) ORDER BY seq LIMIT $8 + 1),
      sized AS (SELECT *, row_number() OVER w AS n, sum(octet_length(content::text)) OVER w AS upto,
        (SELECT max(seq) FROM page) AS last FROM page WINDOW w AS (ORDER BY seq))
      SELECT seq, epoch, role, content, seq < last AS more FROM sized
      WHERE n <= $8 AND (n = 1 OR upto <= ${PAGE_BYTES}) ORDER BY seq`,
    values: [runId, step, item, round, attempt, Number(cursors.read(cursor) ?? -1), epoch ?? null, limit],
  });
}

function toMessage({ seq, epoch, role, content }: Row): TranscriptMessage {
  const { text, calls, results, why, opaque } = isRecord(content) ? content : {};
  const reasoning = reasoningOf(opaque);
  return {
    seq,
    epoch,
    role,
    text: typeof text === 'string' ? text : '',
    calls: Array.isArray(calls) ? (calls as Json[]) : [],
    results: Array.isArray(results) ? (results as Json[]) : [],
    ...(typeof why === 'string' ? { why } : {}),
    ...(reasoning === '' ? {} : { reasoning }),
  };
}

/** The reasoning stored with a turn, to be shown or sent back to the provider. */
function reasoningOf(opaque: unknown): string {
  const parts = isRecord(opaque) && Array.isArray(opaque.parts) ? opaque.parts.filter(isRecord) : [];
  const texts = parts.flatMap(({ type, text }) => ((type === 'reasoning' || type === 'thought') && text ? [text] : []));
  return texts.join('\n\n').trim();
}
