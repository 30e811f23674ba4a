import { html } from 'hono/html';
import type { CliLoginRequest } from '../../contract/auth.js';
import { type Html, page } from './page.js';

/** Asks a signed-in person whether a terminal may act in their name. */
export function authorizeCliPage(request: CliLoginRequest, { email, nonce }: { email: string; nonce: string }): Html {
  if (request.status !== 'pending') return decidedCliPage(request.status);
  const minutes = Math.max(1, Math.round((Date.parse(request.expiresAt) - Date.now()) / 60_000));
  return page(
    'Sign in a command line?',
    html`<p>A terminal asks for a key that acts as you. Approve it only if you have just asked for it yourself, and it shows this code:</p>
    <p class="code">${request.code}</p>
    <dl>
      <dt>Machine</dt><dd>${request.hostname}</dd>
      <dt>From</dt><dd>${request.address ?? 'an unknown address'}</dd>
      <dt>You</dt><dd>${email}</dd>
      <dt>The key</dt><dd>${request.role} of ${request.account}</dd>
    </dl>
    <form method="post" action="/api/cli/authorize">
      <input type="hidden" name="code" value="${request.code}">
      <input type="hidden" name="nonce" value="${nonce}">
      <p class="row"><button name="decision" value="approve">Approve</button> <button class="quiet" name="decision" value="deny">Deny</button></p>
    </form>
    <p class="quiet">This request ends in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.</p>`,
  );
}

export function decidedCliPage(status: 'approved' | 'denied'): Html {
  return status === 'approved'
    ? page('Approved', html`<p>The terminal is signed in. You can close this page and go back to it.</p>`)
    : page('Denied', html`<p>The terminal gets no key. You can close this page.</p>`);
}
