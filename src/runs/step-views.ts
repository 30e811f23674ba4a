import type { RoundView, StepView } from '../contract/runs.js';
import type { Plan, StepPlan } from '../format/index.js';
import { leavesOf } from '../format/model.js';
import type { StepRow } from '../platform/db/contract.js';
import { isRecord } from '../shared/json.js';
import { toUsd } from '../shared/money.js';
import { type EventRow, stepOf, traceLine } from './trace.js';

export interface ShownStep
  extends Pick<
    StepRow,
    | 'id'
    | 'item'
    | 'round'
    | 'attempts'
    | 'result'
    | 'data'
    | 'eventPayload'
    | 'decision'
    | 'feedback'
    | 'error'
    | 'costNano'
    | 'tokensIn'
    | 'tokensOut'
    | 'tokensCached'
    | 'copied'
    | 'startedAt'
    | 'finishedAt'
  > {
  readonly status: RoundView['status'];
  readonly edits: RoundView['edits'] | null;
}

interface Rows {
  readonly steps: readonly ShownStep[];
  readonly events: readonly EventRow[];
  readonly files: readonly {
    readonly step: string;
    readonly agent: string;
    readonly path: string;
    readonly size: bigint;
  }[];
}

const NOT_YET: RoundView = {
  round: 0,
  status: 'pending',
  attempts: 0,
  result: null,
  costUsd: 0,
  tokens: { input: 0, output: 0, cached: 0 },
  startedAt: null,
  finishedAt: null,
  durationMs: null,
};

/** Every step of the plan, `pending` until it starts; the newest round on top, earlier ones in `rounds`. */
export function stepViews(plan: Plan, rows: Rows, releaseUrl: (step: string) => string): StepView[] {
  const groups = new Map<string, string>();
  for (const node of plan.nodes) {
    if (node.kind === 'group') for (const branch of node.branches) groups.set(branch.id, node.id);
  }
  const eventsOf = groupBy(
    rows.events.filter((row) => !isGroup(row)),
    stepOf,
  );
  const rowsOf = groupBy(rows.steps, ({ id }) => id);
  return leavesOf(plan).map((step) =>
    stepView(step, groups.get(step.id) ?? null, {
      rows: { ...rows, steps: rowsOf.get(step.id) ?? [], events: eventsOf.get(step.id) ?? [] },
      releaseUrl,
    }),
  );
}

function stepView(
  step: StepPlan,
  group: string | null,
  { rows, releaseUrl }: { readonly rows: Rows; readonly releaseUrl: (step: string) => string },
): StepView {
  const mine = rows.steps;
  const rounds = mine.filter((row) => row.item === 0).map(roundView);
  const items = mine.filter((row) => row.item > 0).map(roundView);
  const newest = rounds.at(-1) ?? NOT_YET;
  return {
    n: step.n,
    id: step.id,
    title: step.title,
    agent: step.agent ?? null,
    group,
    ...newest,
    ...(items.length === 0 ? {} : withItems(newest, items, newestItems(mine, newest.round))),
    rounds: rounds.slice(0, -1),
    files: rows.files
      .filter((file) => file.step === step.id)
      .map(({ agent, path, size }) => ({ agent, path, size: Number(size) })),
    trace: rows.events.map((row) => traceLine(row, releaseUrl)),
    traceTotal: rows.events[0]?.total ?? 0,
  };
}

/**
 * The items of the step's newest round, in order. Before any of them has started, and in runs of older builds (whose
 * items have no round), each item's last execution.
 */
function newestItems(rows: readonly ShownStep[], round: number): RoundView[] {
  const items = rows.filter((row) => row.item > 0);
  const newest = items.filter((row) => row.round === round);
  if (newest.length > 0) return newest.map(roundView);
  return [...new Map(items.map((row) => [row.item, row])).values()].map(roundView);
}

/** A step's cost includes the cost of all its items, in all rounds. */
function withItems(
  newest: RoundView,
  items: readonly RoundView[],
  shown: readonly RoundView[],
): Pick<StepView, 'items' | 'costUsd' | 'tokens'> {
  const sum = (of: (round: RoundView) => number): number => items.reduce((total, item) => total + of(item), of(newest));
  return {
    items: shown,
    costUsd: sum((round) => round.costUsd),
    tokens: {
      input: sum((round) => round.tokens.input),
      output: sum((round) => round.tokens.output),
      cached: sum((round) => round.tokens.cached),
    },
  };
}

function groupBy<T>(rows: readonly T[], keyOf: (row: T) => string | null): Map<string | null, T[]> {
  const groups = new Map<string | null, T[]>();
  for (const row of rows) {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  return groups;
}

function isGroup(row: EventRow): boolean {
  return isRecord(row.data) && row.data.group === true;
}

function roundView(row: ShownStep): RoundView {
  const ended = row.status === 'skipped' ? null : row.finishedAt;
  return {
    round: row.round,
    status: row.status,
    attempts: row.attempts,
    result: row.result,
    ...(row.data === null ? {} : { data: row.data }),
    ...(row.eventPayload === null ? {} : { eventPayload: row.eventPayload }),
    ...(row.decision === null ? {} : { decision: row.decision }),
    ...(row.edits == null ? {} : { edits: row.edits }),
    ...(row.error === null ? {} : { error: row.error }),
    ...(row.copied ? { copied: true as const } : {}),
    costUsd: toUsd(row.costNano),
    tokens: { input: row.tokensIn, output: row.tokensOut, cached: row.tokensCached },
    startedAt: row.startedAt.toISOString(),
    finishedAt: row.finishedAt?.toISOString() ?? null,
    durationMs: ended ? ended.getTime() - row.startedAt.getTime() : null,
  };
}
