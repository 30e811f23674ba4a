import { createRoute } from '@hono/zod-openapi';
import { AuditList, AuditQuery } from '../../../contract/audit.js';
import { listAudit } from '../../../people/index.js';
import { defineRoute } from '../../define-route.js';
import { okResponse } from '../../schemas.js';

export const getAudit = defineRoute({
  access: { role: 'admin' },
  route: createRoute({
    method: 'get',
    path: '/api/audit',
    summary: 'Who did what to whom, from where, newest first',
    tags: ['Account'],
    request: { query: AuditQuery },
    responses: okResponse(AuditList),
  }),
  handle: async (c) => c.json(await listAudit(c.var.deps, c.var.caller, c.req.valid('query')), 200),
});
