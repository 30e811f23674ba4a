import { createRoute } from '@hono/zod-openapi';
import { RepoActed, RepoAction } from '../../../contract/repo.js';
import type { Deps } from '../../../deps.js';
import type { RecordAnswer } from '../../../people/index.js';
import { deleteBranch, deployRef, dropPending, mergeBranch, mirrorNow, setMirror } from '../../../remotes/index.js';
import type { Caller } from '../../../shared/roles.js';
import { defineRoute } from '../../define-route.js';
import { jsonBody, okResponse, refusedTreeResponse, WorkspaceParams } from '../../schemas.js';
import { sentBody } from '../../sent-body.js';

export const postRepo = defineRoute({
  access: { role: 'editor' },
  needs: async (c) => ((await sentBody(c)).action === 'mirror' ? 'admin' : null),
  idempotent: 'settled',
  route: createRoute({
    method: 'post',
    path: '/api/workspaces/{ws}/repo',
    summary:
      'Deploy a ref, merge or delete a branch, give up the pending push, set the mirror (for admins) or bring it up to date',
    tags: ['Repo'],
    request: { params: WorkspaceParams, body: jsonBody(RepoAction) },
    responses: {
      ...okResponse(RepoActed, 'What was done'),
      ...refusedTreeResponse,
    },
  }),
  handle: async (c) => {
    const { ws: workspace } = c.req.valid('param');
    const { action, ...input } = c.req.valid('json');
    const act = ACTIONS[action] as Act;
    return c.json(
      await act(c.var.deps, c.var.caller, { ...input, workspace, recordAnswer: c.var.recordAnswer?.(200) }),
      200,
    );
  },
});

type Input<A extends RepoAction['action']> = Omit<Extract<RepoAction, { action: A }>, 'action'> & {
  readonly workspace: string;
  readonly recordAnswer: RecordAnswer | undefined;
};
type Act = (deps: Deps, caller: Caller, input: object) => Promise<RepoActed>;

const ACTIONS = {
  deploy: deployRef,
  merge: mergeBranch,
  'delete-branch': deleteBranch,
  'drop-pending': dropPending,
  mirror: setMirror,
  'mirror-now': mirrorNow,
} as const satisfies {
  readonly [A in RepoAction['action']]: (deps: Deps, caller: Caller, input: Input<A>) => Promise<RepoActed>;
};
