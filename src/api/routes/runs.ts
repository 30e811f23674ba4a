import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import { RunParams, WorkspaceParams } from '../../contract/common.js';
import { ArchiveQuery, EventPage, EventsQuery, TranscriptPage, TranscriptQuery } from '../../contract/long-runs.js';
import {
  Decided,
  DecideRun,
  Ok,
  PromotedRun,
  PromoteRun,
  RerunRun,
  RunList,
  RunsQuery,
  RunView,
  Skipped,
  StartAgent,
  Started,
  StartRun,
  Stopped,
  StreamQuery,
} from '../../contract/runs.js';
import {
  auditRefusal,
  decideRun,
  deleteRun,
  findRun,
  findTarget,
  getRun,
  listEvents,
  listRuns,
  openArchive,
  promoteRun,
  readTranscript,
  rerunRun,
  startRun,
  stopRun,
  streamRun,
} from '../../runs/index.js';
import { toJson } from '../../shared/exact-json.js';
import type { Json } from '../../shared/json.js';
import { watchAccess } from '../auth/watch-access.js';
import { defineRoute, type Route } from '../define-route.js';
import type { GuardedEnv } from '../env.js';
import { acceptedResponse, jsonBody, okResponse, rawResponse, spentResponse } from '../schemas.js';
import { sendFile } from '../send-file.js';
import { getApprovals } from './approvals.js';

const approveRun = defineRoute({
  access: { role: 'editor' },
  idempotent: 'settled',
  keysByCaller: true,
  find: findRunOfPath,
  refused: (c, refusal) => auditRefusal(c.var.deps, c.var.caller, { runId: c.req.param('id') ?? '' }, refusal),
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/runs/{id}/approve',
    summary: 'Release a run that waits on a human',
    description:
      'A request that names nothing decides the one gate that is open when it arrives. If it is sent again after a lost answer or by a double click, it may decide the gate of the next step, which was not read. Send round and digest of the gate as read, or an Idempotency-Key, to prevent that.',
    tags: ['Runs'],
    request: { params: RunParams, body: jsonBody(DecideRun) },
    responses: okResponse(Decided, 'The decision is stored; the run continues by itself'),
  }),
  handle: async (c) => {
    const { ws: workspace, id: runId } = c.req.valid('param');
    const input = { workspace, runId, ...c.req.valid('json'), recordAnswer: c.var.recordAnswer?.(200) };
    return c.json(await decideRun(c.var.deps, c.var.caller, input), 200);
  },
});

const stopOneRun = defineRoute({
  access: { role: 'editor' },
  idempotent: 'natural',
  find: findRunOfPath,
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/runs/{id}/stop',
    summary: 'Stop a run; its sandbox is destroyed',
    tags: ['Runs'],
    request: { params: RunParams },
    responses: okResponse(Stopped),
  }),
  handle: async (c) => {
    const { ws: workspace, id: runId } = c.req.valid('param');
    return c.json(await stopRun(c.var.deps, c.var.caller, { workspace, runId }), 200);
  },
});

const promoteOneRun = defineRoute({
  access: { role: 'editor' },
  idempotent: 'settled',
  find: findRunOfPath,
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/runs/{id}/promote',
    summary: 'Save a completed run as a case of an eval',
    tags: ['Runs'],
    request: { params: RunParams, body: jsonBody(PromoteRun) },
    responses: okResponse(PromotedRun, 'The case is in the file, committed and live'),
  }),
  handle: async (c) => {
    const { ws: workspace, id: runId } = c.req.valid('param');
    const { expect = [], ...names } = c.req.valid('json');
    const promote = { workspace, runId, ...names, expect, recordAnswer: c.var.recordAnswer?.(200) };
    return c.json(await promoteRun(c.var.deps, c.var.caller, promote), 200);
  },
});

const getTranscript = defineRoute({
  access: { role: 'viewer' },
  find: findRunOfPath,
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/runs/{id}/transcript',
    summary: 'The messages of a step after its opening prompt, in pages',
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

const getEvents = defineRoute({
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

const getArchive = defineRoute({
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

const getRuns = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/runs',
    summary: 'The runs, newest first',
    tags: ['Runs'],
    request: { params: WorkspaceParams, query: RunsQuery },
    responses: okResponse(RunList),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    return c.json(await listRuns(c.var.deps, c.var.caller, { workspace, ...c.req.valid('query') }), 200);
  },
});

const getOneRun = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/runs/{id}',
    summary: 'The whole run: every step with its output, cost, timing and trace',
    tags: ['Runs'],
    request: { params: RunParams },
    responses: okResponse(RunView),
  }),
  handle: async (c) => {
    const { ws: workspace, id: runId } = c.req.valid('param');
    return c.json(await getRun(c.var.deps, c.var.caller, { workspace, runId }), 200);
  },
});

const deleteOneRun = defineRoute({
  access: { role: 'editor' },
  find: findRunOfPath,
  route: createRoute({
    method: 'delete',
    path: '/api/workspaces/{ws}/runs/{id}',
    summary: 'Delete an ended run',
    tags: ['Runs'],
    request: { params: RunParams },
    responses: okResponse(Ok),
  }),
  handle: async (c) => {
    const { ws: workspace, id: runId } = c.req.valid('param');
    return c.json(await deleteRun(c.var.deps, c.var.caller, { workspace, runId }), 200);
  },
});

const rerunOneRun = defineRoute({
  access: { role: 'editor' },
  idempotent: 'settled',
  find: findRunOfPath,
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/runs/{id}/rerun',
    summary: 'Run it again, from a step on, with another agent if wanted',
    tags: ['Runs'],
    request: { params: RunParams, body: jsonBody(RerunRun) },
    responses: {
      ...acceptedResponse(Started, 'A new run is stored, and continues by itself; the old one does not change'),
      ...okResponse(Skipped, 'No run was made (on_limit: skip)'),
      ...spentResponse,
    },
  }),
  handle: async (c) => {
    const { ws: workspace, id: runId } = c.req.valid('param');
    const { step = 1, agent, with: on } = c.req.valid('json');
    const rerun = { workspace, runId, step, agent, current: on === 'current', recordAnswer: c.var.recordAnswer?.(202) };
    const started = await rerunRun(c.var.deps, c.var.caller, rerun);
    return 'skipped' in started ? c.json(started, 200) : c.json(started, 202);
  },
});

const startFlow = defineRoute({
  access: { role: 'editor' },
  idempotent: 'settled',
  find: findTargetOfPath,
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/flows/{flow}/run',
    summary: 'Start a run of a flow',
    tags: ['Runs'],
    request: { params: WorkspaceParams.extend({ flow: nameParam('The flow’s name') }), body: jsonBody(StartRun) },
    responses: {
      ...acceptedResponse(Started, 'The run is stored, and continues by itself'),
      ...okResponse(Skipped, 'No run was made (on_limit: skip)'),
      ...spentResponse,
    },
  }),
  handle: async (c) => {
    const { ws: workspace, flow } = c.req.valid('param');
    const { task = '', from = 1, tags = [] } = c.req.valid('json');
    const started = await startRun(c.var.deps, c.var.caller, {
      workspace,
      target: `flows/${flow}`,
      task: task as Json,
      from,
      tags,
      trigger: { kind: 'manual' },
      recordAnswer: c.var.recordAnswer?.(202),
    });
    return 'skipped' in started ? c.json(started, 200) : c.json(started, 202);
  },
});

const startAgent = defineRoute({
  access: { role: 'editor' },
  idempotent: 'settled',
  find: findTargetOfPath,
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/agents/{agent}/run',
    summary: 'Run one agent alone',
    tags: ['Runs'],
    request: { params: WorkspaceParams.extend({ agent: nameParam('The agent’s name') }), body: jsonBody(StartAgent) },
    responses: {
      ...acceptedResponse(Started, 'The run is stored, and continues by itself'),
      ...okResponse(Skipped),
      ...spentResponse,
    },
  }),
  handle: async (c) => {
    const { ws: workspace, agent } = c.req.valid('param');
    const { task, tags = [] } = c.req.valid('json');
    const started = await startRun(c.var.deps, c.var.caller, {
      workspace,
      target: `agents/${agent}`,
      task,
      from: 1,
      tags,
      trigger: { kind: 'manual' },
      recordAnswer: c.var.recordAnswer?.(202),
    });
    return 'skipped' in started ? c.json(started, 200) : c.json(started, 202);
  },
});

const COMMENT_EVERY_MS = 15_000;

const streamOneRun = defineRoute({
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

export const runRoutes: readonly Route[] = [
  startFlow,
  startAgent,
  getRuns,
  getOneRun,
  deleteOneRun,
  streamOneRun,
  getTranscript,
  getEvents,
  getArchive,
  approveRun,
  getApprovals,
  stopOneRun,
  rerunOneRun,
  promoteOneRun,
];

/** A name in a path; the verb checks whether it exists. */
export function nameParam(description: string) {
  return z.string().min(1).max(255).describe(description);
}

/** Finds the run of the path: a missing object takes precedence over an invalid body. */
function findRunOfPath(c: Context<GuardedEnv>): Promise<void> {
  return findRun(c.var.deps, c.var.caller, { workspace: c.req.param('ws') ?? '', runId: c.req.param('id') ?? '' });
}

/** The flow or the agent of the path in the live revision. */
export async function findTargetOfPath(c: Context<GuardedEnv>): Promise<void> {
  const flow = c.req.param('flow');
  const target = flow === undefined ? `agents/${c.req.param('agent') ?? ''}` : `flows/${flow}`;
  await findTarget(c.var.deps.db, c.var.caller, { workspace: c.req.param('ws') ?? '', target });
}
