import { createRoute, z } from '@hono/zod-openapi';
import { EventParams, EventQuery, Released } from '../../../contract/runs.js';
import { releaseEvent } from '../../../runs/index.js';
import type { Json } from '../../../shared/json.js';
import { Refusal } from '../../../shared/refusal.js';
import { clientAddress } from '../../auth/client-address.js';
import { defineRoute } from '../../define-route.js';
import { okResponse } from '../../schemas.js';

export const postEvent = defineRoute({
  access: 'token',
  route: createRoute({
    method: 'post',
    path: '/api/events/{tenant}/{ws}/{id}',
    summary: 'Release a run that waits for an event; the body becomes its payload',
    tags: ['Triggers'],
    request: {
      params: EventParams,
      query: EventQuery,
      body: {
        content: {
          'application/json': { schema: z.unknown() },
          'application/x-www-form-urlencoded': { schema: z.record(z.string(), z.unknown()) },
        },
      },
    },
    responses: okResponse(Released, 'The event is kept; the run goes on by itself'),
  }),
  handle: async (c) => {
    const { tenant, id: runId } = c.req.valid('param');
    const { token, step } = c.req.valid('query');
    const type = c.req.header('content-type')?.toLowerCase() ?? '';
    if (type.startsWith('multipart/'))
      throw new Refusal('unsupported_type', 'send the event as JSON or as a plain form');
    const form = type.startsWith('application/x-www-form-urlencoded');
    const text = form ? '' : await c.req.text();
    const payload = form ? await c.req.parseBody() : text === '' ? null : await c.req.json();
    // What curl sends by default: taken as a form, the JSON would become a key, and the event be spent on it.
    if (form && /^\s*[{[]/.test(Object.keys(payload)[0] ?? ''))
      throw new Refusal(
        'unsupported_type',
        'the body is JSON but says it is a form: send Content-Type: application/json',
      );
    return c.json(
      await releaseEvent(c.var.deps, {
        tenant,
        runId,
        token,
        step,
        payload: payload as Json,
        address: clientAddress(c),
      }),
      200,
    );
  },
});
