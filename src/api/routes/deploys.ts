import { createRoute, z } from '@hono/zod-openapi';
import { deployTree, requireDeployed } from '../../content/index.js';
import { DeployBody, DeployResultBody } from '../../contract/deploys.js';
import { defineRoute, type Route } from '../define-route.js';
import { jsonBody, okResponse, refusedTreeResponse, WorkspaceParams } from '../schemas.js';
import { MAX_TREE_BODY_BYTES, toSourceFiles } from '../source-files.js';

const deploy = defineRoute({
  access: { role: 'editor' },
  idempotent: 'settled',
  maxBodyBytes: MAX_TREE_BODY_BYTES,
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/deploy',
    summary: 'Deploy a whole tree: it replaces what is live',
    description:
      'Deletes every live file that `files` does not hold, AGENTS.md included; only memory that agents wrote stays until a deploy or push mentions it. `dryRun: true` answers `removed`, `added` and `changed` first. A deploy without AGENTS.md that would empty the workspace (delete more than half of its live files) is 422 (`tree/would-empty`) unless `allowEmpty` is true. To change single files use PUT …/source.',
    tags: ['Deploy'],
    // Strict, since an ignored `?dryRun=true` would deploy.
    request: { params: WorkspaceParams, query: z.strictObject({}), body: jsonBody(DeployBody) },
    responses: {
      ...okResponse(DeployResultBody, 'What changed'),
      ...refusedTreeResponse,
    },
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    const { files, ...options } = c.req.valid('json');
    const input = {
      ...options,
      workspace,
      files: toSourceFiles(files),
      via: 'deploy' as const,
      recordAnswer: c.var.recordAnswer?.(200),
    };
    return c.json(requireDeployed(await deployTree(c.var.deps, c.var.caller, input)), 200);
  },
});

export const deployRoutes: readonly Route[] = [deploy];
