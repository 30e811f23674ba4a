import { createRoute, z } from '@hono/zod-openapi';
import { BranchChangeBody, RepoBody, RepoQuery } from '../../../contract/repo.js';
import { readBranch, readRepo } from '../../../remotes/index.js';
import { defineRoute } from '../../define-route.js';
import { okResponse, WorkspaceParams } from '../../schemas.js';

export const getRepo = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/repo',
    summary: 'Branches, tags and the mirror; with branch its net change against main',
    tags: ['Repo'],
    request: { params: WorkspaceParams, query: RepoQuery },
    responses: okResponse(z.union([RepoBody, BranchChangeBody]), 'The repository, or what the branch changed'),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    const { branch, path } = c.req.valid('query');
    const { deps, caller } = c.var;
    if (branch === undefined) return c.json(await readRepo(deps, caller, { workspace }), 200);
    return c.json(await readBranch(deps, caller, { workspace, branch, path }), 200);
  },
});
