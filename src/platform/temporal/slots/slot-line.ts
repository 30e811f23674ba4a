import type { CustomSlotSupplier, SlotInfo, SlotPermit, SlotReserveContext } from '@temporalio/worker';

/** An assigned slot. `usedAt` is null until a task uses it: pollers hold slots while they wait for tasks. */
export interface Slot<SI extends SlotInfo = SlotInfo> {
  readonly isSticky: boolean;
  usedAt: number | null;
  /** The task that uses it. */
  info: SI | null;
}

export interface SlotRule<SI extends SlotInfo = SlotInfo> {
  /** True if one more slot may be assigned now. The rule may count that slot as assigned. */
  admits(slots: readonly Slot[], isSticky: boolean): boolean;
  onEnd?(ended: EndedTask<SI>): void;
}

export interface EndedTask<SI extends SlotInfo> {
  readonly ms: number;
  readonly info: SI | null;
  /** Others waited for a slot. */
  readonly isFull: boolean;
}

interface Waiting {
  readonly isSticky: boolean;
  readonly grant: () => void;
}

export interface SlotLine<SI extends SlotInfo> {
  readonly supplier: CustomSlotSupplier<SI>;
  /** Assigns the slots that the rule admits now. Call it when the rule's answer may have changed. */
  serve(): void;
  /** How many tasks use a slot. */
  used(): number;
  /** Assigns a slot to work that is not a task, if the rule admits it now. Returns its release. */
  tryReserve(): (() => void) | null;
}

/** Assigns slots for Temporal's tasks in order of arrival, as many as the rule admits. `now` is in ms. */
export function createSlotLine<SI extends SlotInfo>(rule: SlotRule<SI>, now: () => number): SlotLine<SI> {
  const slots = new Map<number, Slot<SI>>();
  const line: Waiting[] = [];
  let lastId = 0;
  const admits = (isSticky: boolean) => rule.admits([...slots.values()], isSticky);
  function give(isSticky: boolean): SlotPermit {
    lastId += 1;
    slots.set(lastId, { isSticky, usedAt: null, info: null });
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
    markSlotUsed: ({ permit, slotInfo }) => {
      const slot = slots.get(idOf(permit));
      if (slot) Object.assign(slot, { usedAt: now(), info: slotInfo });
    },
    releaseSlot: ({ permit }) => release(permit),
  };
  function release(permit: SlotPermit): void {
    const slot = slots.get(idOf(permit));
    slots.delete(idOf(permit));
    if (slot?.usedAt != null) rule.onEnd?.({ ms: now() - slot.usedAt, info: slot.info, isFull: line.length > 0 });
    serve();
  }
  const tryReserve = () => {
    const permit = line.length === 0 && admits(false) ? give(false) : null;
    return permit && (() => release(permit));
  };
  const used = () => [...slots.values()].filter(({ usedAt }) => usedAt !== null).length;
  return { supplier, serve, used, tryReserve };
}

function idOf(permit: SlotPermit): number {
  return 'id' in permit && typeof permit.id === 'number' ? permit.id : 0;
}
