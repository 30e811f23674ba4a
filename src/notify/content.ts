import type { Json } from '../shared/json.js';
import { EVENTS, type NoticeData, type ToldEvent } from './events.js';

/** What is told, without its links. Its members are those of the POST's body. */
export interface NotificationContent {
  readonly event: ToldEvent;
  readonly account: string;
  readonly workspace: string | null;
  readonly run: string | null;
  readonly flow: string | null;
  readonly step: string | null;
  /** The eval that failed, and which run of it. */
  readonly eval: string | null;
  readonly evalRun: string | null;
  readonly subject: string;
  readonly summary: string;
  /** What a gate asks, or why a run failed; of a long one the beginning. */
  readonly text: string | null;
  readonly due: string | null;
  readonly at: string;
}

export interface Facts {
  readonly event: ToldEvent;
  readonly data: NoticeData;
  readonly account: string;
  readonly workspace: string | null;
  readonly run: string | null;
  readonly flow: string | null;
  /** Of the gate: the step's id, its title and what it asks. */
  readonly step: string | null;
  readonly title: string | null;
  readonly ask: string | null;
  readonly due: string | null;
  readonly error: string | null;
  /** The run's own, or the first line of its newest result. */
  readonly summary: string | null;
  readonly at: string;
}

const TEXT_CHARACTERS = 2_000;

/** One line without control characters: nothing of it can begin a header of a mail. */
export function oneLine(text: string, most = 200): string {
  const line = text.replace(/[\p{C}\s]+/gu, ' ').trim();
  return line.length > most ? `${line.slice(0, most - 1).trimEnd()}…` : line;
}

/** The subject is the run's summary; before there is one the newest result's first line, else the flow and the step. */
export function contentOf(facts: Facts): NotificationContent {
  const { event, data, account, workspace, run, flow, step, title, due, at } = facts;
  const says = oneLine(EVENTS[event].says(data));
  const where = flow ?? workspace ?? account;
  const fallback = title === null ? `${where}: ${says}` : `${where}: ${title}`;
  const summary = oneLine(facts.summary ?? '') || oneLine(fallback);
  const text = facts.ask ?? facts.error ?? textOf(data.reason);
  return {
    event,
    account,
    workspace,
    run,
    flow,
    step,
    eval: textOf(data.eval),
    evalRun: textOf(data.evalRunId),
    subject: summary,
    summary: oneLine(`${where}: ${says}`, 300),
    text: text === null ? null : cut(text),
    due,
    at,
  };
}

function textOf(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

function cut(text: string): string {
  return text.length > TEXT_CHARACTERS ? `${text.slice(0, TEXT_CHARACTERS)}…` : text;
}

/** The content of a row, as it was written. */
export function readContent(content: Json): NotificationContent {
  return content as unknown as NotificationContent;
}
