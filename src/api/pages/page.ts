import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import { html, raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f24; --ground: #fbfaf7; --card: #fff; --line: #d9d5ca; --quiet: #5c6470; --act: #0b57a4; --on: #fff; --bad: #a3231b; }
* { box-sizing: border-box; }
body { font: 1rem/1.6 system-ui, sans-serif; margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.25rem; color: var(--ink); background: var(--ground); }
main { width: 100%; max-width: 26rem; padding: 2rem; background: var(--card); border: 1px solid var(--line); border-radius: .75rem; }
main.wide { max-width: 46rem; }
h1 { font-size: 1.25rem; line-height: 1.3; margin: 0 0 1rem; }
p { margin: 0 0 1rem; }
label { display: block; margin: 0 0 1rem; font-weight: 600; }
input { display: block; width: 100%; margin-top: .25rem; padding: .6rem .75rem; font: inherit; color: inherit; background: transparent; border: 1px solid var(--line); border-radius: .4rem; }
input[type=checkbox] { display: inline-block; width: auto; margin: 0 .5rem 0 0; }
:is(textarea, select) { display: block; width: 100%; margin-top: .25rem; padding: .6rem .75rem; font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: .4rem; }
textarea { min-height: 5rem; resize: vertical; }
pre { margin: 0 0 1.25rem; padding: .75rem 1rem; max-height: 30rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; font: .95rem/1.5 ui-monospace, monospace; border: 1px solid var(--line); border-radius: .4rem; }
h2 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
.fine { font-size: .8rem; overflow-wrap: anywhere; }
button { font: inherit; font-weight: 600; padding: .6rem 1.1rem; border: 1px solid var(--act); border-radius: .4rem; background: var(--act); color: var(--on); cursor: pointer; }
button.quiet { background: transparent; color: inherit; border-color: var(--line); }
:is(input, textarea, select, button, a):focus-visible { outline: 3px solid var(--act); outline-offset: 2px; }
.code { font: 700 1.75rem/1.2 ui-monospace, monospace; letter-spacing: .08em; text-align: center; padding: 1rem; border: 1px dashed var(--line); border-radius: .4rem; }
dl { display: grid; grid-template-columns: auto 1fr; gap: .25rem 1rem; margin: 0 0 1.25rem; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
.quiet { color: var(--quiet); }
.bad { color: var(--bad); font-weight: 600; }
.row { display: flex; gap: .75rem; }
a { color: var(--act); }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e6e1; --ground: #16181b; --card: #1e2125; --line: #3a3f46; --quiet: #a0a7b1; --act: #8cc2ff; --on: #10151b; --bad: #ff9d94; }
}
`;

/** No scripts, requests or frames, and only this style, by its hash. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** A page with a form or a message, without scripts; `wide` for long content. */
export function page(title: string, body: Html, width: 'narrow' | 'wide' = 'narrow'): Html {
  return html`<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>${title} · Signalbox</title>
  <style>${raw(STYLE)}</style>
  <main class="${width}">
    <h1>${title}</h1>
    ${body}
  </main>
</html>
`;
}

/** `no-referrer`, except on pages whose address has no credential. */
export function setPageHeaders(c: Context, referrer: 'no-referrer' | 'same-origin' = 'no-referrer'): void {
  c.header('Content-Security-Policy', POLICY);
  c.header('Cache-Control', 'no-store');
  c.header('Referrer-Policy', referrer);
}
