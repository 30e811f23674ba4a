import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { EventParams, EventQuery, Released } from '../../contract/runs.js';
import { releaseEvent, requireEventToken, requireOwnName } from '../../runs/index.js';
import { decodeContent } from '../../shared/content-coding.js';
import { readDelivered } from '../../triggers/index.js';
import { clientAddress } from '../auth/client-address.js';
import { defineRoute, type Route } from '../define-route.js';
import type { GuardedEnv, OpenEnv } from '../env.js';
import { okResponse } from '../schemas.js';

const EVENT_BYTES = 1024 * 1024;

const postEvent = defineRoute({
  access: 'token',
  find: findRunOfToken,
  maxBodyBytes: EVENT_BYTES,
  route: createRoute({
    method: 'post',
    path: '/api/events/{tenant}/{ws}/{id}',
    summary: 'Release a run that waits for an event; the body (JSON, a form, text) becomes its payload',
    tags: ['Triggers'],
    request: {
      params: EventParams,
      query: EventQuery,
      body: { content: { '*/*': { schema: z.unknown() } } },
    },
    responses: okResponse(Released, 'The event is stored; the run continues by itself'),
  }),
  handle: async (c) => {
    await findRunOfToken(c);
    const { tenant, id: runId } = c.req.valid('param');
    const { token, step } = c.req.valid('query');
    const type = c.req.header('content-type') ?? '';
    // An event is accepted once, so refuse an unreadable body before the event is spent.
    const sent = new Uint8Array(await c.req.arrayBuffer());
    const body = await decodeContent(sent, { header: c.req.header('content-encoding'), maxBytes: EVENT_BYTES });
    const { value: payload } = await readDelivered({ type, body });
    const event = { tenant, runId, token, step, payload, address: clientAddress(c) };
    return c.json(await releaseEvent(c.var.deps, event), 200);
  },
});

export const eventRoutes: readonly Route[] = [postEvent];

/** Requires a token of this run for the workspace in its path, before the input is validated. */
async function findRunOfToken(c: Context<GuardedEnv> | Context<OpenEnv>): Promise<void> {
  const { tenant = '', ws: workspace = '', id: runId = '' } = c.req.param() as Readonly<Record<string, string>>;
  await requireEventToken(c.var.deps, { tenant, runId, token: c.req.query('token') ?? '' });
  await requireOwnName(c.var.deps, { tenant, workspace, runId });
}
