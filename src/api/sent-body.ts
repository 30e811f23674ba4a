import type { Context } from 'hono';
import { isRecord } from '../shared/json.js';
import type { AppEnv } from './env.js';
import { readRawBody } from './take-body.js';

/** Bodies that select an operation are short. */
const MAX_BYTES = 64 * 1024;

/**
 * The JSON object of a request that is about to be refused, to find the role that its operation needs. Empty when the
 * body is long, slow or not a JSON object; the refusal then names the route's role.
 */
export async function sentBody(c: Context): Promise<Readonly<Record<string, unknown>>> {
  try {
    const bytes = await readRawBody(c as Context<AppEnv>, { maxBytes: MAX_BYTES, unproven: null });
    const body: unknown = JSON.parse(bytes.toString('utf8'));
    return isRecord(body) ? body : {};
  } catch {
    return {};
  }
}
