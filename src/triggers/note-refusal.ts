import type { Deps } from '../deps.js';
import { Refusal } from '../shared/refusal.js';
import { noteDelivery } from './deliveries.js';
import type { FoundHook } from './find-hook.js';
import type { TriggerKind } from './outside.js';

interface At extends Pick<FoundHook, 'workspace' | 'flow'> {
  readonly kind: TriggerKind;
  readonly address: string | null;
}

/** Runs the work. Records a Refusal in the list of deliveries, and throws it. */
export async function noteRefusal<T>(deps: Deps, at: At, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal) {
      const { workspace, flow, kind, address } = at;
      const note = { workspaceId: workspace.id, flow, kind, address, outcome: 'refused' } as const;
      await noteDelivery(deps.db, { ...note, detail: error.message });
    }
    throw error;
  }
}
