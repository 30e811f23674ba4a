import { createRoute } from '@hono/zod-openapi';
import { createLibraryFile, removeLibraryFile, writeLibraryFile } from '../../../content/index.js';
import {
  CreateLibraryBody,
  LibraryCreatedBody,
  LibraryEditBody,
  LibraryParams,
  LibraryPathQuery,
  LibraryWriteQuery,
  WriteLibraryBody,
} from '../../../contract/library.js';
import { defineRoute } from '../../define-route.js';
import { etagOf, readPrecondition } from '../../preconditions.js';
import { createdResponse, jsonBody, okResponse } from '../../schemas.js';
import { onePath, toBytes } from '../../source-files.js';

const path = '/api/library/{kind}';
const tags = ['Library'];
const access = { role: 'editor' } as const;

export const createInLibrary = defineRoute({
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

export const writeInLibrary = defineRoute({
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

export const removeFromLibrary = defineRoute({
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
