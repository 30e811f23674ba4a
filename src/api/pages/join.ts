import { html } from 'hono/html';
import type { DescribedInvite } from '../../people/index.js';
import { type Html, page } from './page.js';

/** The page on which an invited person chooses a password and becomes a member. */
export function joinPage({ account, email, role }: DescribedInvite, token: string): Html {
  return page(
    `Join ${account}`,
    html`<p>You were invited to <b>${account}</b> as ${role === 'viewer' ? 'a' : 'an'} ${role}.</p>
    <form method="post" action="/join">
      <input type="hidden" name="token" value="${token}">
      <label>E-mail address <input type="text" name="" value="${email}" autocomplete="username" readonly></label>
      <label>Password <input type="password" name="password" autocomplete="new-password" minlength="12" required autofocus></label>
      <p class="quiet">12 characters at least.</p>
      <button>Join</button>
    </form>`,
  );
}
