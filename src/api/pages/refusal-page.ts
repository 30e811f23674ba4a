import type { Context } from 'hono';
import { html } from 'hono/html';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { page, setPageHeaders } from './page.js';

/** A refusal for a person in a browser. */
export async function refusalPage(c: Context, message: string, status: ContentfulStatusCode): Promise<Response> {
  setPageHeaders(c);
  return c.html(await page('This did not work', html`<p>${message}</p>`), status);
}
