import { html } from 'hono/html';
import { type Html, page } from './page.js';

/** Error messages by the code in the address, so that a link cannot put its own text on the page. */
const ERRORS: Readonly<Record<string, string>> = {
  'bad-credentials': 'The address or the password is wrong.',
};

export function signInPage({ next, error }: { readonly next: string; readonly error: string | undefined }): Html {
  const fault = ERRORS[error ?? ''];
  return page(
    'Sign in',
    html`${fault && html`<p class="bad" role="alert">${fault}</p>`}
    <form method="post" action="/sign-in">
      <input type="hidden" name="next" value="${next}">
      <label>E-mail address <input type="text" inputmode="email" name="email" autocomplete="username" required autofocus></label>
      <label>Password <input type="password" name="password" autocomplete="current-password" required></label>
      <button>Sign in</button>
    </form>`,
  );
}
