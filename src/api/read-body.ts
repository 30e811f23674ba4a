import type { RouteConfig } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { jsonShapeFault } from '../shared/json-shape.js';
import { Refusal } from '../shared/refusal.js';
import type { AppEnv } from './env.js';
import { refuse } from './guard.js';

const JSON_TYPE = /^application\/([\w.-]+\+)?json$/i;

/**
 * Reads the body within its limit and parses it once, before the validators. They would refuse the same faults, but
 * without asking whether the thing is there at all, and without saying what to do.
 */
export function readBody(route: RouteConfig, maxBytes: number): MiddlewareHandler<AppEnv> {
  const limit = bodyLimit({ maxSize: maxBytes, onError: (c) => refuse(c, tooLarge(maxBytes)) });
  const types = Object.keys(route.request?.body?.content ?? {});
  const takesJson = types.some((type) => JSON_TYPE.test(type));
  const takesOther = types.some((type) => !JSON_TYPE.test(type));
  const isOptional = route.request?.body?.required !== true;
  return (c, next) =>
    limit(c, async () => {
      if (takesJson && (!takesOther || JSON_TYPE.test(typeOf(c)))) await readJson(c, isOptional);
      await next();
    });
}

async function readJson(c: Context<AppEnv>, isOptional: boolean): Promise<void> {
  const type = typeOf(c);
  if (!JSON_TYPE.test(type)) {
    if (type === '' && (await c.req.text()) === '') return;
    await refuse(c, new Refusal('unsupported_type', 'send the body as JSON, with Content-Type: application/json'));
  }
  const text = await c.req.text();
  // Clients that name a type by themselves name it of no body too, which a validator would take for JSON that is cut off.
  if (text === '' && isOptional) {
    Object.assign(c.req.bodyCache, { text: Promise.resolve('{}') });
    return;
  }
  if (text.trim() === '') await refuse(c, new Refusal('malformed', 'the body is empty: send JSON, {} at least'));
  const fault = jsonShapeFault(text);
  if (fault !== null) await refuse(c, new Refusal('refused', `the body ${fault}`));
  const body = await c.req.json<unknown>().catch((error: unknown) => error);
  if (body instanceof Error) await refuse(c, new Refusal('malformed', `the body is not JSON: ${body.message}`));
}

function typeOf(c: Context<AppEnv>): string {
  return c.req.header('content-type')?.split(';')[0]?.trim() ?? '';
}

function tooLarge(maxBytes: number): Refusal {
  const size = maxBytes >= 1024 * 1024 ? `${maxBytes / 1024 / 1024} MiB` : `${maxBytes} bytes`;
  return new Refusal('too_large', `the body is over the limit of ${size}`, { limitBytes: maxBytes });
}
