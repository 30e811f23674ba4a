import type { NotificationContent } from './content.js';
import { EVENTS } from './events.js';
import { escapeHtml } from './mail.js';

interface Links {
  readonly approveUrl: string;
  readonly rejectUrl: string;
}

interface MailText {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** One mail, with the same content as text and HTML. Its links open a page and decide nothing by themselves. */
export function mailText(content: NotificationContent, links: Links | null): MailText {
  const { flow, workspace, account, run, evalRun, due, text, summary, subject, event } = content;
  const facts = [
    flow !== null && workspace !== null
      ? `Flow: ${flow} in ${workspace}`
      : workspace === null
        ? `Account: ${account}`
        : `Workspace: ${workspace}`,
    ...(due === null ? [] : [`Decide before: ${due.slice(0, 16).replace('T', ' ')} UTC`]),
    ...(run === null ? [] : [`Run: ${run}`]),
    ...(evalRun ? [`Eval run: ${evalRun} of ${content.eval}`] : []),
  ];
  const choices = links === null ? [] : [['Approve', links.approveUrl] as const, ['Reject', links.rejectUrl] as const];
  const hint =
    'Each link opens a page that shows what is decided; nothing is decided before you press a button there. The link is yours: a person who has it decides in your name.';
  const plain = [
    summary,
    ...(text === null ? [] : [text]),
    ...choices.map(([word, url]) => `${word}:\n${url}`),
    ...(choices.length === 0 ? [] : [hint]),
    facts.join('\n'),
  ];
  const html = [
    `<p>${escapeHtml(summary)}</p>`,
    ...(text === null ? [] : [`<pre style="white-space:pre-wrap">${escapeHtml(text)}</pre>`]),
    ...(choices.length === 0
      ? []
      : [`<p>${choices.map(([word, url]) => `<a href="${escapeHtml(url)}">${word}</a>`).join(' &middot; ')}</p>`]),
    ...(choices.length === 0 ? [] : [`<p>${escapeHtml(hint)}</p>`]),
    `<p>${facts.map(escapeHtml).join('<br>')}</p>`,
  ];
  return {
    subject: EVENTS[event].byDefault || run !== null ? subject : summary,
    text: `${plain.join('\n\n')}\n`,
    html: html.join('\n'),
  };
}
