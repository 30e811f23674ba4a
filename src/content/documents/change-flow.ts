import type { Deleted, FlowBody } from '../../contract/flows.js';
import type { Deps } from '../../deps.js';
import type { Edited, FlowChange } from '../../format/index.js';
import { audit, type RecordAnswer } from '../../people/index.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { textBytes } from '../../shared/text-bytes.js';
import { editTree } from '../deploys/edit-source.js';
import { checkPrecondition, type Precondition } from '../deploys/preconditions.js';
import { readFlow } from './list-documents.js';

export interface ChangeFlowInput {
  readonly workspace: string;
  readonly flow: string;
  /** In the order in which they are applied. */
  readonly changes: readonly FlowChange[];
  readonly expect: Precondition;
  readonly recordAnswer?: RecordAnswer | undefined;
}

/**
 * Edits a flow's file in place, as a commit of the caller; all other bytes stay. Refuses `refused` an edit that is
 * impossible in place, or that would cause errors in the tree.
 */
export async function changeFlow(deps: Deps, caller: Caller, input: ChangeFlowInput): Promise<FlowBody> {
  const { workspace, flow, changes } = input;
  let answer: FlowBody | undefined;
  await editTree(deps, caller, {
    workspace,
    message: `Edit flows/${flow}`,
    edit: async ({ tree, read }) => {
      const path = `flows/${flow}.md`;
      checkPrecondition(path, tree.get(path)?.sha ?? null, input.expect);
      const before = await read(path);
      if (before === null) throw notFound('flow');
      let text = before;
      for (const change of changes) {
        const edited: Edited = await deps.checker.work('change-flow', { text, change });
        if (!edited.ok) throw new Refusal('refused', edited.reason, { code: 'flow/edit' });
        text = edited.text;
      }
      return { remove: [], put: new Map([[path, textBytes(text)]]) };
    },
    inTransaction: async (sql) => {
      await audit(sql, caller, 'flow.change', flow, { workspace, what: changes.map(({ kind }) => kind) });
      answer = await readFlow({ ...deps, db: sql }, caller, { workspace, flow });
      await input.recordAnswer?.(sql, answer);
    },
  });
  // Nothing was written when the flow had these values already.
  return answer ?? (await readFlow(deps, caller, { workspace, flow }));
}

/** Deletes a flow. Refuses `refused` with the issues while a subflow step or an eval refers to it. */
export async function deleteFlow(
  deps: Deps,
  caller: Caller,
  { workspace, flow, expect }: Pick<ChangeFlowInput, 'workspace' | 'flow' | 'expect'>,
): Promise<Deleted> {
  const path = `flows/${flow}.md`;
  await editTree(deps, caller, {
    workspace,
    message: `Delete flows/${flow}`,
    edit: async ({ tree }) => {
      if (!tree.has(path)) throw notFound('flow');
      checkPrecondition(path, tree.get(path)?.sha ?? null, expect);
      return { remove: [path], put: new Map() };
    },
    inTransaction: (sql) => audit(sql, caller, 'flow.delete', flow, { workspace }),
  });
  return { ok: true, name: flow };
}
