import { createHash } from 'node:crypto';
import type { Context, Handler } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import {
  claimIdempotencyKey,
  type HeldKey,
  type KeptAnswer,
  keepAnswer,
  LEASE_SECONDS,
  type RecordAnswer,
  releaseIdempotencyKey,
  renewIdempotencyKey,
  settleAnswer,
} from '../accounts/index.js';
import type { Deps } from '../deps.js';
import { toJson } from '../shared/exact-json.js';
import { failpoint } from '../shared/failpoint.js';
import { newId } from '../shared/ids.js';
import { Refusal } from '../shared/refusal.js';
import { CLIENT_LEFT } from './client-left.js';
import type { AppEnv } from './env.js';
import { onError } from './errors.js';
import { requireThing } from './guard.js';

/** Headers of an answer that belong to what it says; the others belong to the request. */
const KEPT_HEADERS = ['content-type', 'location', 'etag'];

/**
 * Honours `Idempotency-Key`: the first answer is kept for a day and given again to the same call. What says "not now"
 * (429, 499, 5xx) is not kept, since that call is meant to be repeated; where nobody knows whether it took effect the key
 * stays taken. `settled` handlers write their answer with their effect, so their key is only leased: when the process
 * dies or falls silent, the same call may take over, and what the first one still tries to commit is undone.
 */
export function withIdempotency(handle: (c: Context<AppEnv>) => Promise<Response>, settled: boolean): Handler<AppEnv> {
  return async (c) => {
    const given = c.req.header('idempotency-key');
    const tenant = c.var.caller?.tenant;
    if (given === undefined || tenant === undefined) return handle(c);
    // Keys are the account's: an answer kept for one caller is no way past what another one may not see.
    await requireThing(c);
    const key = checkKey(given);
    const { deps } = c.var;
    const held = { tenant, key, holder: newId() };
    const kept = await claimIdempotencyKey(deps, { ...held, bodyHash: await hashCall(c), leased: settled });
    if (kept) return replay(kept);
    failpoint('key-claimed');
    if (settled) c.set('recordAnswer', (status) => settleWith(held, status));
    let unsure = false;
    const lease = settled ? keepLease(deps, held) : undefined;
    const response = await handle(c)
      .catch((error: Error) => {
        unsure = isUnsure(error);
        return onError(error, c);
      })
      .finally(() => clearInterval(lease));
    if (unsure) return response;
    failpoint('answer-unsent');
    const isAnswer = response.status < 500 && response.status !== 429 && response.status !== CLIENT_LEFT;
    if (!isAnswer) await releaseIdempotencyKey(deps, held);
    else await keepAnswer(deps, held, await toKept(response));
    return response;
  };
}

/**
 * For a POST that cannot honour the header, since its answer holds a secret that is not kept or it has no account: a
 * caller who relies on the header would do the work twice, so the call is refused before anything is done.
 */
export function refuseIdempotencyKey(handle: (c: Context<AppEnv>) => Promise<Response>): Handler<AppEnv> {
  return async (c) => {
    if (c.req.header('idempotency-key') === undefined) return handle(c);
    throw new Refusal(
      'refused',
      'Idempotency-Key: this route does not honour it; leave the header out, and look what is there before you repeat the call',
      { code: 'idempotency-key-unsupported' },
    );
  };
}

/** A renewal that fails is made up for by the next one; one that comes too late finds that another has the key. */
function keepLease(deps: Deps, held: HeldKey): NodeJS.Timeout {
  return setInterval(() => void renewIdempotencyKey(deps, held).catch(() => undefined), (LEASE_SECONDS * 1_000) / 3);
}

function settleWith(held: HeldKey, status: ContentfulStatusCode): RecordAnswer {
  const headers = { 'content-type': 'application/json' };
  return (sql, body) => settleAnswer(sql, held, { status, headers, body: toJson(body) });
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
