import { createRoute } from '@hono/zod-openapi';
import { Page } from '../../contract/common.js';
import { ApprovalList } from '../../contract/runs.js';
import { listApprovals } from '../../runs/index.js';
import { defineRoute } from '../define-route.js';
import { okResponse } from '../schemas.js';

export const getApprovals = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path: '/api/approvals',
    summary: 'Everything that waits for a person, in all workspaces that the caller may see; the longest wait first',
    tags: ['Runs'],
    request: { query: Page },
    responses: okResponse(ApprovalList),
  }),
  handle: async (c) => c.json(await listApprovals(c.var.deps, c.var.caller, c.req.valid('query')), 200),
});
