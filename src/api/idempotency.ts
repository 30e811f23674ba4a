import { createHash } from 'node:crypto';
import type { Context, Handler } from 'hono';
import { claimIdempotencyKey, type KeptAnswer, keepAnswer, releaseIdempotencyKey } from '../accounts/index.js';
import { Refusal } from '../shared/refusal.js';
import type { AppEnv } from './env.js';
import { onError } from './errors.js';
import { requireThing } from './guard.js';

/** Headers of an answer that belong to what it says; the others belong to the request. */
const KEPT_HEADERS = ['content-type', 'location', 'etag'];

/**
 * Honours `Idempotency-Key`: the first answer is kept for a day and given again to the same call. What says "not now"
 * (429, 5xx) is not kept, since that call is meant to be repeated; where nobody knows whether it took effect the key
 * stays taken.
 */
export function withIdempotency(handle: (c: Context<AppEnv>) => Promise<Response>): Handler<AppEnv> {
  return async (c) => {
    const given = c.req.header('idempotency-key');
    const tenant = c.var.caller?.tenant;
    if (given === undefined || tenant === undefined) return handle(c);
    // Keys are the account's: an answer kept for one caller is no way past what another one may not see.
    await requireThing(c);
    const key = checkKey(given);
    const { deps } = c.var;
    const kept = await claimIdempotencyKey(deps, { tenant, key, bodyHash: await hashCall(c) });
    if (kept) return replay(kept);
    let unsure = false;
    const response = await handle(c).catch((error: Error) => {
      unsure = isUnsure(error);
      return onError(error, c);
    });
    if (unsure) return response;
    if (response.status >= 500 || response.status === 429) await releaseIdempotencyKey(deps, { tenant, key });
    else await keepAnswer(deps, { tenant, key, answer: await toKept(response) });
    return response;
  };
}

function checkKey(key: string): string {
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new Refusal('refused', 'Idempotency-Key: 1 to 255 printable ASCII characters without a space');
}

/** The method, the path and the query are part of the call: one key cannot serve two of them. */
async function hashCall(c: Context<AppEnv>): Promise<string> {
  const { pathname, search } = new URL(c.req.url);
  const hash = createHash('sha256').update(`${c.req.method} ${pathname}${search}\n`);
  return hash.update(new Uint8Array(await c.req.arrayBuffer())).digest('hex');
}

function isUnsure(error: Error): boolean {
  return error instanceof Refusal && error.details.code === 'outcome-unknown';
}

async function toKept(response: Response): Promise<KeptAnswer> {
  const headers = KEPT_HEADERS.flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return { status: response.status, headers: Object.fromEntries(headers), body: await response.clone().text() };
}

function replay({ status, headers, body }: KeptAnswer): Response {
  return new Response(body, { status, headers: { ...headers, 'Idempotency-Replayed': 'true' } });
}
