import { createRoute, z } from '@hono/zod-openapi';
import { readSourceFile, readSourceTree, type SourceContent } from '../../../content/index.js';
import { ReadSourceQuery, SourceFileBody, SourceTreeBody } from '../../../contract/source.js';
import { encodeContent } from '../../../shared/file-content.js';
import { defineRoute } from '../../define-route.js';
import { etagOf, isKnown } from '../../preconditions.js';
import { okResponse, WorkspaceParams } from '../../schemas.js';

export const readSource = defineRoute({
  access: { role: 'viewer' },
  reads: ['If-None-Match'],
  sends: ['ETag'],
  route: createRoute({
    method: 'get',
    path: '/api/workspaces/{ws}/source',
    summary: 'The tree, or with path one file and its ETag',
    tags: ['Source'],
    request: { params: WorkspaceParams, query: ReadSourceQuery },
    responses: {
      ...okResponse(z.union([SourceTreeBody, SourceFileBody]), 'The tree, or the file'),
      304: { description: 'The file is still the one that If-None-Match names' },
    },
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    const { path, ...page } = c.req.valid('query');
    const { deps, caller } = c.var;
    if (path === undefined) return c.json(await readSourceTree(deps, caller, { workspace, ...page }), 200);
    const file = await readSourceFile(deps, caller, { workspace, path });
    c.header('ETag', etagOf(file.sha));
    if (isKnown(c, file.sha)) return c.body(null, 304);
    return c.json(toBody(file), 200);
  },
});

function toBody({ content, issues, ...entry }: SourceContent) {
  return { ...entry, ...encodeContent(content), issues };
}
