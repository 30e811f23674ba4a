import { html } from 'hono/html';
import type { OpenedLink } from '../../../contract/approve.js';
import { toJson } from '../../../shared/exact-json.js';
import { type Html, page } from '../page.js';
import { formFields } from './form-fields.js';

interface Shown {
  readonly preselected: 'approve' | 'reject';
  /** The decision was just made on this page. */
  readonly done?: true;
  /** Why the decision was refused, with the submitted values. */
  readonly fault?: string;
  readonly given?: Readonly<Record<string, unknown>>;
}

/** The page of a mailed link: everything to decide with two buttons, or who decided it and when. */
export function approvePage(link: OpenedLink, shown: Shown): Html {
  if (link.decision !== null) return endedPage(link, link.decision, shown);
  if (link.yours !== null) return countedPage(link, link.yours);
  const { fault } = shown;
  const body = html`${fault && html`<p class="bad" role="alert">${fault}</p>`}
    ${gateDetails(link)}
    ${content(link)}
    ${link.mayDecide ? form(link, shown) : html`<p class="bad">This is decided by ${link.approvers.join(' or ')}, and not by ${link.to}.</p>`}
    <p class="quiet fine">Content SHA-256 ${link.digest}</p>`;
  return page(link.title, body, 'wide');
}

function gateDetails({ flow, workspace, since, due, need, decided, to, votes }: OpenedLink): Html {
  return html`<dl>
      <dt>Flow</dt><dd>${flow} in ${workspace}</dd>
      <dt>Waits since</dt><dd>${time(since)}</dd>
      ${due && html`<dt>Until</dt><dd>${time(due)}</dd>`}
      ${need > 1 && html`<dt>Approved by</dt><dd>${decided} of ${need}${votes.length > 0 && `: ${votes.map(({ by }) => by).join(', ')}`}</dd>`}
      <dt>You are</dt><dd>${to}</dd>
    </dl>`;
}

/** The subject of the decision. */
function content({ ask, calls = [], edit = [], mayDecide, votes, decision }: OpenedLink): Html {
  const others = votes.filter(({ edits }) => edits !== undefined);
  return html`${calls.length === 0 && html`<h2>What ${decision === null ? 'is' : 'was'} asked</h2><pre>${ask}</pre>`}
    ${calls.map(
      ({
        name,
        args,
        digest,
        question,
        characters,
      }) => html`<h2>${question === undefined ? `Call of ${name}` : 'A question'}</h2>
      <pre>${question ?? (typeof args === 'string' ? args : toJson(args, 2))}</pre>
      ${characters && html`<p class="quiet">The beginning of ${characters} characters; all of them are in the run.</p>`}
      <p class="quiet fine">SHA-256 ${digest}</p>`,
    )}
    ${!mayDecide && edit.map((step) => html`<h2>${step.title}</h2><pre>${workOf(step)}</pre>`)}
    ${others.map(({ by, edits }) => html`<h2>Changed by ${by}</h2><pre>${toJson(edits, 2)}</pre>`)}`;
}

function form(link: OpenedLink, { preselected, given = {} }: Shown): Html {
  const field = (name: string): string | null => (typeof given[name] === 'string' ? given[name] : null);
  const { edit = [], calls = [], nonce, digest } = link;
  const asks = calls.some(({ question }) => question !== undefined);
  const buttons = (['approve', 'reject'] as const).map(
    (decision) =>
      html`<button name="decision" value="${decision}"${decision === preselected ? html` autofocus` : html` class="quiet"`}>${WORDS[decision]}</button> `,
  );
  return html`<form method="post">
      <input type="hidden" name="nonce" value="${nonce}">
      <input type="hidden" name="digest" value="${digest}">
      ${edit.map((step) => html`<label>${step.title} <span class="quiet">(you may change it)</span><textarea name="edit.${step.id}" rows="10">${'\n'}${field(`edit.${step.id}`) ?? workOf(step)}</textarea></label>`)}
      ${link.form !== undefined && formFields(link.form, field)}
      <label>${asks ? 'Answer, or why not' : 'Note'} <span class="quiet">(may be left out)</span><textarea name="note" maxlength="4000">${field('note') ?? ''}</textarea></label>
      <p class="row">${buttons}</p>
    </form>`;
}

const WORDS = { approve: 'Approve', reject: 'Reject' } as const;

const DECIDED: Readonly<Record<string, string>> = { approve: 'Approved', reject: 'Rejected', timeout: 'Timed out' };

function endedPage(link: OpenedLink, decision: NonNullable<OpenedLink['decision']>, { done, fault }: Shown): Html {
  const { by, at, note } = decision;
  const word = DECIDED[decision.decision];
  const outcome = word
    ? html`${word}${by && ` by ${by}`} on ${time(at)}.`
    : html`The run continued, or ended, without a decision on ${time(at)}.`;
  const late = done ? 'You can close this page.' : 'It no longer waits for a decision.';
  return page(
    word ?? 'Nothing waits here',
    html`${fault && html`<p class="bad" role="alert">${fault}</p>`}
    <p>${outcome}</p>${note && html`<pre>${note}</pre>`}<p class="quiet">${late}</p>
    <dl><dt>Step</dt><dd>${link.title}</dd><dt>Flow</dt><dd>${link.flow} in ${link.workspace}</dd></dl>
    ${content(link)}`,
    'wide',
  );
}

function countedPage(
  { title, flow, workspace, need, decided }: OpenedLink,
  { at }: NonNullable<OpenedLink['yours']>,
): Html {
  return page(
    'Your approval is counted',
    html`<p>You approved on ${time(at)}. ${decided} of ${need} have approved.</p>
    <dl><dt>Step</dt><dd>${title}</dd><dt>Flow</dt><dd>${flow} in ${workspace}</dd></dl>`,
  );
}

function workOf({ result, data }: NonNullable<OpenedLink['edit']>[number]): string {
  return data === undefined ? (result ?? '') : toJson(data, 2);
}

/** Shows UTC, since the page does not know the reader's time zone. */
function time(at: string): Html {
  return html`<time datetime="${at}">${at.slice(0, 16).replace('T', ' ')} UTC</time>`;
}
