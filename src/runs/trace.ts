import type { TableRow } from '../platform/db/contract.js';
import { isRecord, type Json } from '../shared/json.js';

export interface TraceLine {
  readonly at: string;
  readonly kind: string;
  readonly text: string;
  readonly [key: string]: Json;
}

export interface EventRow extends Pick<TableRow<'RunEvent'>, 'seq' | 'type' | 'data' | 'at'> {
  /** How many lines the step has. */
  readonly total?: number;
}

const LONGEST_WHY = 200;

type Describe = (data: Readonly<Record<string, Json>>) => string;

/** The name that the flow used, and the model it resolved to when they differ. Older runs record only the name. */
function modelOf({ model, served }: Readonly<Record<string, unknown>>): string {
  return served === undefined || served === model ? String(model) : `${model} (${served})`;
}

/** The hosts that a program was refused. */
function refusedText(refused: Json | undefined): string {
  const hosts = Array.isArray(refused) ? refused.flatMap((entry) => (isRecord(entry) ? String(entry.host) : [])) : [];
  return hosts.length === 0 ? '' : `; it was not let to ${hosts.join(', ')}`;
}

/** Why a call failed: the limit that ended it, or the first line of its result. */
function whyText({ why, isError, preview }: Readonly<Record<string, Json>>): string {
  const [line = ''] = isError && typeof preview === 'string' ? preview.trim().split('\n') : [];
  const text = why ? String(why) : line.slice(0, LONGEST_WHY);
  return text === '' ? '' : `: ${text}`;
}

/** The text of each event of a step. Events of other types show their name. */
const TEXTS: Readonly<Record<string, Describe>> = {
  'step.started': (data) => (data.agent ? `started by ${data.agent}` : 'started'),
  'step.completed': (data) => (data.again ? `done; goes back to ${data.again}` : 'completed'),
  'step.failed': (data) => `failed: ${data.error}`,
  'step.skipped': (data) => `skipped (${data.why})`,
  'step.retrying': (data) => `attempt ${data.attempt} follows: ${data.error}`,
  'step.waiting': (data) => `waits (${data.kind})`,
  'step.copied': (data) => `taken over from run ${data.of}`,
  'step.edited': (data) => `edited by ${data.by}`,
  'step.subflow': (data) => `runs as ${data.runId}`,
  'model.started': (data) => `asks ${modelOf(data)}${data.purpose ? ' for a summary of the older turns' : ''}`,
  'model.finished': (data) =>
    `${modelOf(data)} answered in ${data.ms} ms${data.estimated ? '; it reported no usage, so its cost is estimated' : ''}`,
  'model.cut': (data) =>
    `${modelOf(data)} broke off: ${data.error}; it counts at what was sent and received, by an estimate`,
  'budget.warning': (data) => `${data.percent} % of the run’s budget of $${data.budgetUsd} is spent`,
  'budget.reached': (data) =>
    `the budget of ${data.of}, $${data.budgetUsd}, is used up${data.asks ? ': a person is asked for more' : ''}`,
  'model.failed': (data) => `no answer: ${data.error}`,
  'model.retrying': (data) => `asks again in ${data.waitMs} ms: ${data.error}`,
  'model.waiting': (data) => `asks again at ${data.until} (wait ${data.waits}): ${data.error}`,
  'turn.waiting': (data) => String(data.reason),
  'model.fallback': (data) => `continues with ${modelOf(data)}: ${data.error}`,
  'model.interrupted': (data) => `a call of ${modelOf(data)} was cut off; it counts at what it had set aside`,
  'tool.started': (data) => `${data.name} ${data.args}`,
  'tool.finished': (data) =>
    `${data.name} ${data.isError ? 'failed' : 'answered'} in ${data.ms} ms${whyText(data)}${refusedText(data.refused)}`,
  'tool.refused': (data) => `${data.name} was refused: ${data.error}`,
  'tool.unavailable': (data) => String(data.error),
  'tool.interrupted': (data) => `${data.name} was interrupted, may have partly run`,
  'sandbox.preparing': (data) => `prepares the runtime: ${data.packages || 'interpreters'}`,
  'sandbox.prepared': (data) => `prepared the runtime in ${data.ms} ms`,
  'sandbox.unprepared': (data) => String(data.error),
  'approval.requested': () => 'waits for a decision',
  'approval.reminder': () => 'still waits for a decision: a reminder is due',
  'approval.escalated': (data) => `not decided so far: ${data.to} may decide too`,
  'approval.counted': (data) => String(data.text),
  'approval.decided': (data) => String(data.text),
  'approval.timeout': () => 'no decision in time',
  'event.received': (data) => String(data.text),
  'event.timeout': () => 'no event came in time',
  'timer.elapsed': () => 'the time is over',
  'context.compacted': (data) => `made room: ${data.from} tokens became ${data.to}`,
  'secret.resolved': (data) =>
    `secret ${data.name} from the ${data.store === 'workspace' ? 'workspace’s' : 'account’s'} vault`,
  'memory.written': (data) => `wrote ${data.path}`,
  'file.written': (data) => `kept ${data.path}`,
  'file.ignored': (data) => `did not keep ${data.path}: ${data.why}`,
};

/** One line of a step's trace. `releaseUrl` is shown where the step waits for an event. */
export function traceLine(row: EventRow, releaseUrl: (step: string) => string): TraceLine {
  const data = isRecord(row.data) ? (row.data as Record<string, Json>) : {};
  const { step: _step, item, text: _text, park: _park, ...rest } = data;
  const text =
    row.type === 'event.waiting'
      ? `waits for an event: POST ${releaseUrl(String(data.step))}`
      : (TEXTS[row.type]?.(data) ?? row.type);
  const ofItem = typeof item === 'number' && item > 0 ? { item } : {};
  return { ...rest, ...ofItem, at: row.at.toISOString(), kind: row.type, text };
}

/** The step of an event; null for events of the whole run. */
export function stepOf(row: EventRow): string | null {
  return isRecord(row.data) && typeof row.data.step === 'string' ? row.data.step : null;
}
