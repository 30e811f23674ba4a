import type { Role } from '../../src/shared/roles.js';

/**
 * What a caller who may gets for the plain request of a route: without a body or a query, on things that are there (see
 * access-stage.ts). 422 says that the caller came as far as the schemas, 409 as far as the state of things.
 */
export interface AccessRow {
  readonly allowed: number;
  /** Where the verb asks for more than the declaration: the role for what the plain request is about. */
  readonly need?: Role;
  /** For an admin who is narrowed to another workspace, where that differs. */
  readonly scoped?: number;
}

/** Each route has a row here: `test/api/access.test.ts` fails for one that has none, and for a row without a route. */
export const ACCESS_ROWS: Readonly<Record<string, number | AccessRow>> = {
  'GET /api/workspaces': 200,
  'POST /api/workspaces': 422,
  'GET /api/workspaces/{ws}': 200,
  'DELETE /api/workspaces/{ws}': 200,
  'GET /api/workspaces/{ws}/source': 200,
  'PUT /api/workspaces/{ws}/source': 422,
  'PATCH /api/workspaces/{ws}/source': 422,
  'DELETE /api/workspaces/{ws}/source': 422,
  'POST /api/workspaces/{ws}/deploy': 422,
  'GET /api/workspaces/{ws}/history': 200,
  'POST /api/workspaces/{ws}/flows/{flow}/run': 202,
  'POST /api/workspaces/{ws}/agents/{agent}/run': 422,
  'GET /api/workspaces/{ws}/runs': 200,
  'GET /api/workspaces/{ws}/runs/{id}': 200,
  'DELETE /api/workspaces/{ws}/runs/{id}': 409,
  'GET /api/workspaces/{ws}/runs/{id}/stream': 200,
  'GET /api/workspaces/{ws}/runs/{id}/transcript': 422,
  'GET /api/workspaces/{ws}/runs/{id}/events': 200,
  'GET /api/workspaces/{ws}/runs/{id}/archive': 422,
  'POST /api/workspaces/{ws}/runs/{id}/approve': 422,
  'POST /api/workspaces/{ws}/runs/{id}/stop': 200,
  'POST /api/workspaces/{ws}/runs/{id}/rerun': 202,
  'POST /api/workspaces/{ws}/runs/{id}/promote': 409,
  'GET /api/approvals': 200,
  'POST /api/workspaces/{ws}/tools/{tool}/test': 200,
  'POST /api/events/{tenant}/{ws}/{id}': 401,
  'GET /api/me': 200,
  'GET /api/account': 200,
  'PATCH /api/account': { allowed: 422, scoped: 403 },
  'GET /api/audit': { allowed: 200, scoped: 403 },
  'GET /api/secrets': 200,
  'PUT /api/secrets': 422,
  'DELETE /api/secrets': 422,
  'GET /api/oauth/clients': 200,
  'POST /api/oauth/clients': 422,
  'DELETE /api/oauth/clients': 422,
  'POST /api/oauth/start': 422,
  'GET /api/oauth/callback': 422,
  'POST /api/auth/signup': 422,
  'POST /api/auth/login': 422,
  'POST /api/auth/logout': 200,
  'GET /api/auth/session': 200,
  'GET /api/auth/sessions': 200,
  'DELETE /api/auth/sessions': 422,
  'POST /api/auth/password': 422,
  'POST /api/auth/timezone': 422,
  'GET /sign-in': 200,
  'POST /sign-in': 422,
  'POST /api/cli/login': 422,
  'GET /api/cli/login/{id}': 404,
  'GET /api/cli/authorize': 422,
  'POST /api/cli/authorize': 415,
  'GET /api/team': 200,
  'POST /api/team': 422,
  'DELETE /api/team/invites/{id}': { allowed: 200, scoped: 403 },
  'PATCH /api/team/members/{id}': 422,
  'DELETE /api/team/members/{id}': { allowed: 200, scoped: 403 },
  'POST /api/team/transfer': 422,
  'GET /join': 422,
  'POST /join': 422,
  'GET /api/keys': 200,
  'POST /api/keys': 422,
  'DELETE /api/keys': 422,
  'GET /api/avatars/{kind}/{id}': 404,
  'PUT /api/avatars/{kind}/{id}': { allowed: 422, need: 'admin' },
  'DELETE /api/avatars/{kind}/{id}': { allowed: 404, need: 'admin' },
  'GET /api/healthz': 200,
  'GET /': 200,
  'GET /docs/openapi.json': 200,
  'GET /api/openapi.json': 200,
};
