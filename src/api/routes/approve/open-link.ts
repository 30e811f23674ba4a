import { createRoute } from '@hono/zod-openapi';
import { ApproveParams, ApproveQuery, OpenedLink } from '../../../contract/approve.js';
import { ErrorBody } from '../../../contract/common.js';
import { openLink } from '../../../runs/index.js';
import { defineRoute } from '../../define-route.js';
import { approvePage } from '../../pages/approve/approve-page.js';
import { setPageHeaders } from '../../pages/page.js';
import { prefersJson } from '../../pages/paths.js';
import { jsonResponse } from '../../schemas.js';
import { findLink, linkInput } from './link-input.js';

export const getApprove = defineRoute({
  access: 'token',
  page: true,
  find: findLink,
  route: createRoute({
    method: 'get',
    path: '/api/approve/{tenant}/{ws}/{id}',
    summary: 'What a run waits for, and two buttons; JSON where Accept prefers it. It decides nothing',
    tags: ['Triggers'],
    request: { params: ApproveParams, query: ApproveQuery },
    responses: {
      200: {
        description: 'What waits, or how it was decided',
        content: { 'text/html': { schema: { type: 'string' as const } }, 'application/json': { schema: OpenedLink } },
      },
      403: jsonResponse(ErrorBody, 'The recipient of the link may not decide, or not any more'),
    },
  }),
  handle: async (c) => {
    const isPage = !prefersJson(c);
    if (isPage) c.set('page', true);
    await findLink(c);
    const opened = await openLink(c.var.deps, linkInput(c));
    setPageHeaders(c);
    if (!isPage) return c.json(opened, 200);
    const preselected = c.req.valid('query').decision === 'reject' ? 'reject' : 'approve';
    return c.html(approvePage(opened, { preselected }), 200);
  },
});
