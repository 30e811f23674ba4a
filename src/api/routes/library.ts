import { createRoute, z } from '@hono/zod-openapi';
import {
  createLibraryFile,
  type LibraryFile,
  listLibrary,
  listLibraryChanges,
  readLibraryChange,
  readLibraryFile,
  removeLibraryFile,
  writeLibraryFile,
} from '../../content/index.js';
import { ChangeDetailBody, ChangeListBody, HistoryQuery } from '../../contract/history.js';
import {
  CreateLibraryBody,
  LibraryCreatedBody,
  LibraryEditBody,
  LibraryFileBody,
  LibraryListBody,
  LibraryParams,
  LibraryPathQuery,
  LibraryQuery,
  LibraryWriteQuery,
  WriteLibraryBody,
} from '../../contract/library.js';
import { encodeContent } from '../../shared/file-content.js';
import { defineRoute, type Route } from '../define-route.js';
import { etagOf, isKnown, readPrecondition } from '../preconditions.js';
import { createdResponse, jsonBody, okResponse } from '../schemas.js';
import { onePath, toBytes } from '../source-files.js';

const path = '/api/library/{kind}';

const tags = ['Library'];

const access = { role: 'editor' } as const;

const createInLibrary = defineRoute({
  access,
  idempotent: 'settled',
  sends: ['ETag'],
  route: createRoute({
    method: 'post',
    path,
    summary: 'Add a document, from its content or a template',
    tags,
    request: { params: LibraryParams, body: jsonBody(CreateLibraryBody) },
    responses: createdResponse(LibraryCreatedBody, 'The document, and what changed'),
  }),
  handle: async (c) => {
    const { kind } = c.req.valid('param');
    const { content, contentBase64, ...body } = c.req.valid('json');
    const given = content !== undefined || contentBase64 !== undefined;
    const bytes = given ? toBytes({ content, contentBase64 }, 'body') : undefined;
    const input = { kind, ...body, content: bytes, recordAnswer: c.var.recordAnswer?.(201) };
    const edit = await createLibraryFile(c.var.deps, c.var.caller, input);
    c.header('ETag', etagOf(edit.sha));
    return c.json(edit, 201);
  },
});

const writeInLibrary = defineRoute({
  access,
  reads: ['If-Match', 'If-None-Match'],
  sends: ['ETag'],
  route: createRoute({
    method: 'put',
    path,
    summary: 'Write one file',
    tags,
    request: { params: LibraryParams, query: LibraryWriteQuery, body: jsonBody(WriteLibraryBody) },
    responses: okResponse(LibraryEditBody, 'What changed'),
  }),
  handle: async (c) => {
    const { kind } = c.req.valid('param');
    const { path: sent, ...file } = c.req.valid('json');
    const input = {
      kind,
      path: onePath(c.req.valid('query').path, sent),
      content: toBytes(file, 'body'),
      expect: readPrecondition(c),
    };
    const edit = await writeLibraryFile(c.var.deps, c.var.caller, input);
    if (edit.sha !== null) c.header('ETag', etagOf(edit.sha));
    return c.json(edit, 200);
  },
});

const removeFromLibrary = defineRoute({
  access,
  reads: ['If-Match', 'If-None-Match'],
  sends: ['ETag'],
  route: createRoute({
    method: 'delete',
    path,
    summary: 'Remove one file, or a folder with all that is in it',
    tags,
    request: { params: LibraryParams, query: LibraryPathQuery },
    responses: okResponse(LibraryEditBody, 'What changed'),
  }),
  handle: async (c) => {
    const { kind } = c.req.valid('param');
    const input = { kind, path: c.req.valid('query').path, expect: readPrecondition(c) };
    return c.json(await removeLibraryFile(c.var.deps, c.var.caller, input), 200);
  },
});

const readLibrary = defineRoute({
  access: { role: 'viewer' },
  reads: ['If-None-Match'],
  sends: ['ETag'],
  route: createRoute({
    method: 'get',
    path: '/api/library/{kind}',
    summary: 'What the account shares, who has it and where it is overridden; with path one file and its ETag',
    tags,
    request: { params: LibraryParams, query: LibraryQuery },
    responses: {
      ...okResponse(z.union([LibraryListBody, LibraryFileBody]), 'The files, or the file'),
      304: { description: 'The file is still the one that If-None-Match names' },
    },
  }),
  handle: async (c) => {
    const { kind } = c.req.valid('param');
    const { path, ...page } = c.req.valid('query');
    const { deps, caller } = c.var;
    if (path === undefined) return c.json(await listLibrary(deps, caller, { kind, ...page }), 200);
    const file = await readLibraryFile(deps, caller, { kind, path });
    c.header('ETag', etagOf(file.sha));
    if (isKnown(c, file.sha)) return c.body(null, 304);
    return c.json(toBody(file), 200);
  },
});

const readLibraryHistory = defineRoute({
  access: { role: 'viewer' },
  route: createRoute({
    method: 'get',
    path: '/api/library/history',
    summary: 'Every change of the library, newest first; with id one of them and its diff',
    tags,
    request: { query: HistoryQuery },
    responses: okResponse(z.union([ChangeListBody, ChangeDetailBody]), 'The changes, or the change'),
  }),
  handle: async (c) => {
    const { id, ...input } = c.req.valid('query');
    const { deps, caller } = c.var;
    if (id !== undefined) return c.json(await readLibraryChange(deps, caller, { id, path: input.path }), 200);
    return c.json(await listLibraryChanges(deps, caller, input), 200);
  },
});

/** `history` comes first, so that it does not match as a kind. */
export const libraryRoutes: readonly Route[] = [
  readLibraryHistory,
  readLibrary,
  createInLibrary,
  writeInLibrary,
  removeFromLibrary,
];

function toBody({ content, issues, ...file }: LibraryFile) {
  return { ...file, ...encodeContent(content), issues };
}
