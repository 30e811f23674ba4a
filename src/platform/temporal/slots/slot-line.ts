import type { CustomSlotSupplier, SlotInfo, SlotPermit, SlotReserveContext } from '@temporalio/worker';

/** An assigned slot. `usedAt` is null until a task uses it: pollers hold slots while they wait for tasks. */
export interface Slot {
  readonly isSticky: boolean;
  usedAt: number | null;
}

export interface SlotRule {
  /** True if one more slot may be assigned now. The rule may count that slot as assigned. */
  admits(slots: readonly Slot[], isSticky: boolean): boolean;
  /** A task ended after `ms`. */
  onEnd?(ms: number, isFull: boolean): void;
}

interface Waiting {
  readonly isSticky: boolean;
  readonly grant: () => void;
}

export interface SlotLine<SI extends SlotInfo> {
  readonly supplier: CustomSlotSupplier<SI>;
  /** Assigns the slots that the rule admits now. Call it when the rule's answer may have changed. */
  serve(): void;
}

/** Assigns slots for Temporal's tasks in order of arrival, as many as the rule admits. `now` is in ms. */
export function createSlotLine<SI extends SlotInfo>(rule: SlotRule, now: () => number): SlotLine<SI> {
  const slots = new Map<number, Slot>();
  const line: Waiting[] = [];
  let lastId = 0;
  const admits = (isSticky: boolean) => rule.admits([...slots.values()], isSticky);
  function give(isSticky: boolean): SlotPermit {
    lastId += 1;
    slots.set(lastId, { isSticky, usedAt: null });
    return { id: lastId };
  }
  function serve(): void {
    for (const waiting of [...line]) if (admits(waiting.isSticky)) waiting.grant();
  }
  function reserve({ isSticky }: SlotReserveContext, signal: AbortSignal): Promise<SlotPermit> {
    return new Promise((resolve, reject) => {
      const end = () => {
        line.splice(line.indexOf(waiting), 1);
        signal.removeEventListener('abort', leave);
      };
      const leave = () => {
        end();
        reject(signal.reason);
      };
      const grant = () => {
        end();
        resolve(give(isSticky));
      };
      const waiting = { isSticky, grant };
      line.push(waiting);
      signal.addEventListener('abort', leave, { once: true });
      serve();
    });
  }
  const supplier: CustomSlotSupplier<SI> = {
    type: 'custom',
    reserveSlot: reserve,
    tryReserveSlot: ({ isSticky }) => (line.length === 0 && admits(isSticky) ? give(isSticky) : null),
    markSlotUsed: ({ permit }) => {
      const slot = slots.get(idOf(permit));
      if (slot) slot.usedAt = now();
    },
    releaseSlot: ({ permit }) => {
      const slot = slots.get(idOf(permit));
      slots.delete(idOf(permit));
      if (slot?.usedAt != null) rule.onEnd?.(now() - slot.usedAt, line.length > 0);
      serve();
    },
  };
  return { supplier, serve };
}

function idOf(permit: SlotPermit): number {
  return 'id' in permit && typeof permit.id === 'number' ? permit.id : 0;
}
