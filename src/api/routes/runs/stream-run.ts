import { createRoute } from '@hono/zod-openapi';
import { streamSSE } from 'hono/streaming';
import { RunParams } from '../../../contract/common.js';
import { StreamQuery } from '../../../contract/runs.js';
import { streamRun } from '../../../runs/index.js';
import { toJson } from '../../../shared/exact-json.js';
import { watchAccess } from '../../auth/watch-access.js';
import { defineRoute } from '../../define-route.js';
import { rawResponse } from '../../schemas.js';

const COMMENT_EVERY_MS = 15_000;

export const streamOneRun = defineRoute({
  access: { role: 'viewer' },
  reads: ['Last-Event-ID'],
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/runs/{id}/stream',
    summary: 'The run live, as server-sent events',
    tags: ['Runs'],
    request: { params: RunParams, query: StreamQuery },
    responses: {
      200: rawResponse(
        'text/event-stream',
        'A snapshot, then each event with the run’s gapless seq as its id, then end',
      ),
      204: { description: 'The end was seen already' },
    },
  }),
  handle: async (c) => {
    const { ws: workspace, id: runId } = c.req.valid('param');
    const header = Number(c.req.header('last-event-id') ?? Number.NaN);
    const after = c.req.valid('query').after ?? (Number.isSafeInteger(header) && header >= 0 ? header : null);
    const gone = new AbortController();
    const items = await streamRun(c.var.deps, c.var.caller, { workspace, runId, after, signal: gone.signal });
    if (items === null) return c.body(null, 204);
    c.header('Cache-Control', 'no-cache');
    c.header('X-Accel-Buffering', 'no');
    return streamSSE(c, async (stream) => {
      stream.onAbort(() => gone.abort());
      const unwatch = watchAccess(c, () => gone.abort());
      const pulse = setInterval(
        () => void stream.write(': still here\n\n').catch(() => gone.abort()),
        COMMENT_EVERY_MS,
      );
      try {
        for await (const { event, data, id } of items) {
          await stream.writeSSE({ event, data: toJson(data), ...(id === undefined ? {} : { id }) });
        }
      } catch (err) {
        // The framework would print the error or send its text. Without `end` the client reconnects.
        if (gone.signal.aborted) c.var.log.debug({ err, runId }, 'run stream ended: the client has left');
        else c.var.log.error({ err, runId }, 'run stream failed');
      } finally {
        clearInterval(pulse);
        unwatch();
      }
    });
  },
});
