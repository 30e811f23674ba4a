import { createRoute } from '@hono/zod-openapi';
import { RunParams } from '../../../contract/common.js';
import { ArchiveQuery, EventPage, EventsQuery, TranscriptPage, TranscriptQuery } from '../../../contract/long-runs.js';
import { listEvents, openArchive, readTranscript } from '../../../runs/index.js';
import { defineRoute } from '../../define-route.js';
import { okResponse, rawResponse } from '../../schemas.js';
import { sendFile } from '../../send-file.js';
import { findRunOfPath } from './params.js';

export const getTranscript = defineRoute({
  access: { role: 'viewer' },
  find: findRunOfPath,
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/runs/{id}/transcript',
    summary: 'What was said at a step after its opening prompt, in pages',
    tags: ['Runs'],
    request: { params: RunParams, query: TranscriptQuery },
    responses: okResponse(TranscriptPage),
  }),
  handle: async (c) => {
    const { ws: workspace, id: runId } = c.req.valid('param');
    const page = await readTranscript(c.var.deps, c.var.caller, { workspace, runId, ...c.req.valid('query') });
    return c.json(page, 200);
  },
});

export const getEvents = defineRoute({
  access: { role: 'viewer' },
  find: findRunOfPath,
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/runs/{id}/events',
    summary: 'All that happened in a run, in pages',
    tags: ['Runs'],
    request: { params: RunParams, query: EventsQuery },
    responses: okResponse(EventPage),
  }),
  handle: async (c) => {
    const { ws: workspace, id: runId } = c.req.valid('param');
    const page = await listEvents(c.var.deps, c.var.caller, { workspace, runId, ...c.req.valid('query') });
    return c.json(page, 200);
  },
});

export const getArchive = defineRoute({
  access: { role: 'viewer' },
  find: findRunOfPath,
  reads: ['If-None-Match', 'Range', 'If-Range'],
  sends: ['ETag', 'Accept-Ranges'],
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/runs/{id}/archive',
    summary: 'A file that the run archived from an agent’s outputs/',
    tags: ['Runs'],
    request: { params: RunParams, query: ArchiveQuery },
    responses: {
      200: rawResponse('application/octet-stream', 'The bytes, to be saved: never a page'),
      206: rawResponse('application/octet-stream', 'One range of them'),
      304: { description: 'The caller has them' },
      416: { description: 'The range is behind their end' },
    },
  }),
  handle: async (c) => {
    const { ws: workspace, id: runId } = c.req.valid('param');
    const file = await openArchive(c.var.deps, c.var.caller, { workspace, runId, ...c.req.valid('query') });
    return sendFile(c, { ...file, name: file.path.split('/').at(-1) ?? 'file' });
  },
});
