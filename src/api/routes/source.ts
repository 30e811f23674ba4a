import { createRoute, z } from '@hono/zod-openapi';
import {
  moveSource as move,
  readSourceFile,
  readSourceTree,
  removeSource as remove,
  type SourceContent,
  writeSource as write,
} from '../../content/index.js';
import {
  MoveSourceBody,
  ReadSourceQuery,
  SourceEditBody,
  SourceFileBody,
  SourcePathQuery,
  SourceQuery,
  SourceTreeBody,
  WriteSourceBody,
} from '../../contract/source.js';
import { encodeContent } from '../../shared/file-content.js';
import { defineRoute, type Route } from '../define-route.js';
import { etagOf, isKnown, readPrecondition } from '../preconditions.js';
import { jsonBody, okResponse, WorkspaceParams } from '../schemas.js';
import { onePath, toBytes } from '../source-files.js';

const moveSource = defineRoute({
  access: { role: 'editor' },
  reads: ['If-Match', 'If-None-Match'],
  sends: ['ETag'],
  route: createRoute({
    method: 'patch',
    path: '/api/workspaces/{ws}/source',
    summary: 'Move one file',
    tags: ['Source'],
    request: { params: WorkspaceParams, body: jsonBody(MoveSourceBody) },
    responses: okResponse(SourceEditBody, 'What changed'),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    const input = { workspace, ...c.req.valid('json'), expect: readPrecondition(c) };
    const edit = await move(c.var.deps, c.var.caller, input);
    if (edit.sha !== null) c.header('ETag', etagOf(edit.sha));
    return c.json(edit, 200);
  },
});

const readSource = defineRoute({
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

const removeSource = defineRoute({
  access: { role: 'editor' },
  reads: ['If-Match', 'If-None-Match'],
  sends: ['ETag'],
  route: createRoute({
    method: 'delete',
    path: '/api/workspaces/{ws}/source',
    summary: 'Remove one file',
    tags: ['Source'],
    request: { params: WorkspaceParams, query: SourcePathQuery },
    responses: okResponse(SourceEditBody, 'What changed'),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    const { path } = c.req.valid('query');
    const input = { workspace, path, expect: readPrecondition(c) };
    return c.json(await remove(c.var.deps, c.var.caller, input), 200);
  },
});

const writeSource = defineRoute({
  access: { role: 'editor' },
  reads: ['If-Match', 'If-None-Match'],
  sends: ['ETag'],
  route: createRoute({
    method: 'put',
    path: '/api/workspaces/{ws}/source',
    summary: 'Write one file',
    tags: ['Source'],
    request: { params: WorkspaceParams, query: SourceQuery, body: jsonBody(WriteSourceBody) },
    responses: okResponse(SourceEditBody, 'What changed'),
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    const { path: asked } = c.req.valid('query');
    const { path: sent, ...file } = c.req.valid('json');
    const path = onePath(asked, sent);
    const content = toBytes(file, 'body');
    const input = { workspace, path, content, expect: readPrecondition(c) };
    const edit = await write(c.var.deps, c.var.caller, input);
    if (edit.sha !== null) c.header('ETag', etagOf(edit.sha));
    return c.json(edit, 200);
  },
});

export const sourceRoutes: readonly Route[] = [readSource, writeSource, moveSource, removeSource];

function toBody({ content, issues, ...entry }: SourceContent) {
  return { ...entry, ...encodeContent(content), issues };
}
