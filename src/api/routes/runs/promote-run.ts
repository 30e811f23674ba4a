import { createRoute } from '@hono/zod-openapi';
import { RunParams } from '../../../contract/common.js';
import { PromotedRun, PromoteRun } from '../../../contract/runs.js';
import { promoteRun } from '../../../runs/index.js';
import { defineRoute } from '../../define-route.js';
import { jsonBody, okResponse } from '../../schemas.js';
import { findRunOfPath } from './params.js';

export const promoteOneRun = defineRoute({
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
