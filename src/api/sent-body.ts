import type { Context } from 'hono';
import { isRecord } from '../shared/json.js';
import type { AppEnv } from './env.js';
import { takeBody } from './take-body.js';

/** What says which act is meant is short. */
const MAX_BYTES = 64 * 1024;

/**
 * The JSON object of a request that is about to be refused, to name the role that its act needs. Empty for a body that
 * is long, slow or anything else: then the refusal names the role of the route.
 */
export async function sentBody(c: Context): Promise<Readonly<Record<string, unknown>>> {
  try {
    const bytes = await takeBody(c as Context<AppEnv>, { maxBytes: MAX_BYTES, unproven: null });
    const body: unknown = JSON.parse(bytes.toString('utf8'));
    return isRecord(body) ? body : {};
  } catch {
    return {};
  }
}
