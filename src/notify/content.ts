import type { Json } from '../shared/json.js';
import { EVENTS, type NoticeData, type NotificationEvent } from './events.js';

/** A notification's content without its links. The fields are those of the POST's body. */
export interface NotificationContent {
  readonly event: NotificationEvent;
  readonly account: string;
  readonly workspace: string | null;
  readonly run: string | null;
  readonly flow: string | null;
  readonly step: string | null;
  /** The failed eval, and its run. */
  readonly eval: string | null;
  readonly evalRun: string | null;
  readonly subject: string;
  readonly summary: string;
  /** A gate's question, or why a run failed; long texts are truncated. */
  readonly text: string | null;
  readonly due: string | null;
  readonly at: string;
}

export interface Facts {
  readonly event: NotificationEvent;
  readonly data: NoticeData;
  readonly account: string;
  readonly workspace: string | null;
  readonly run: string | null;
  readonly flow: string | null;
  /** The gate's step id, title and question. */
  readonly step: string | null;
  readonly title: string | null;
  readonly ask: string | null;
  readonly due: string | null;
  readonly error: string | null;
  /** The run's own summary, or the first line of its newest result. */
  readonly summary: string | null;
  readonly at: string;
}

const TEXT_CHARACTERS = 2_000;

/** One line without control characters, so that it cannot start a header of a mail. */
export function oneLine(text: string, most = 200): string {
  const line = text.replace(/[\p{C}\s]+/gu, ' ').trim();
  return line.length > most ? `${line.slice(0, most - 1).trimEnd()}…` : line;
}

/** The subject is the run's summary, else the first line of its newest result, else the flow and the step. */
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

/** Parses the content of a stored notification. */
export function readContent(content: Json): NotificationContent {
  return content as unknown as NotificationContent;
}
