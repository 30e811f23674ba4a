import { createRoute, z } from '@hono/zod-openapi';
import {
  type LibraryFile,
  listLibrary,
  listLibraryChanges,
  readLibraryChange,
  readLibraryFile,
} from '../../../content/index.js';
import { ChangeDetailBody, ChangeListBody, HistoryQuery } from '../../../contract/history.js';
import { LibraryFileBody, LibraryListBody, LibraryParams, LibraryQuery } from '../../../contract/library.js';
import { encodeContent } from '../../../shared/file-content.js';
import { defineRoute } from '../../define-route.js';
import { etagOf, isKnown } from '../../preconditions.js';
import { okResponse } from '../../schemas.js';

const tags = ['Library'];

export const readLibrary = defineRoute({
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

function toBody({ content, issues, ...file }: LibraryFile) {
  return { ...file, ...encodeContent(content), issues };
}

export const readLibraryHistory = defineRoute({
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
