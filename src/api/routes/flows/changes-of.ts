import type { FlowChange } from '../../../content/index.js';
import type { ChangeFlow } from '../../../contract/flows.js';
import { Refusal } from '../../../shared/refusal.js';

/** The edits that a body asks for: one edit of steps or their order, and any keys of the flow. */
export function changesOf(body: ChangeFlow): readonly FlowChange[] {
  const { step, before, title, groups, trigger, enabled, description, ...wish } = body;
  const isStep = step !== undefined || before !== undefined || title !== undefined || Object.keys(wish).length > 0;
  if (isStep && groups !== undefined)
    throw refused('groups', 'rearranging counts the steps as they are: send it in a call of its own');
  if (step !== undefined && (before !== undefined || title !== undefined))
    throw refused(
      before === undefined ? 'title' : 'before',
      'it belongs to a new step: leave out step, or leave it out',
    );
  if (step !== undefined && Object.keys(wish).length === 0)
    throw refused('step', 'say what is to change of it: instruction, options, target or subflow');
  const keys = { ...(enabled === undefined ? {} : { enabled }), ...(description === undefined ? {} : { description }) };
  const changes: FlowChange[] = [];
  if (Object.keys(keys).length > 0) changes.push({ kind: 'keys', keys });
  if (trigger !== undefined) changes.push({ kind: 'trigger', trigger });
  if (groups !== undefined) changes.push({ kind: 'regroup', groups });
  if (step !== undefined) changes.push({ kind: 'edit', step, ...wish });
  else if (isStep) changes.push({ kind: 'insert', title, before, ...wish });
  if (changes.length === 0) throw refused('body', 'it is empty: say what is to change');
  return changes;
}

function refused(key: string, message: string): Refusal {
  return new Refusal('refused', `${key}: ${message}`, { code: 'invalid' });
}
