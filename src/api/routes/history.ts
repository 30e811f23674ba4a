import { createRoute, z } from '@hono/zod-openapi';
import { listChanges, readChange } from '../../content/index.js';
import { ChangeDetailBody, ChangeListBody, HistoryQuery } from '../../contract/history.js';
import { defineRoute, type Route } from '../define-route.js';
import { okResponse, WorkspaceParams } from '../schemas.js';

const readHistory = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/history',
    summary: 'Every change, newest first; with id one of them and its diff',
    tags: ['History'],
    request: { params: WorkspaceParams, query: HistoryQuery },
    responses: okResponse(z.union([ChangeListBody, ChangeDetailBody]), 'The changes, or the change'),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    const { id, path, limit, cursor } = c.req.valid('query');
    const { deps, caller } = c.var;
    if (id !== undefined) return c.json(await readChange(deps, caller, { workspace, id, path }), 200);
    return c.json(await listChanges(deps, caller, { workspace, path, limit, cursor }), 200);
  },
});

export const historyRoutes: readonly Route[] = [readHistory];
