import type { SlotReserveContext, WorkflowSlotInfo } from '@temporalio/worker';
import { expect, test } from 'vitest';
import { activityRule } from '../../src/platform/temporal/slots/activity-rule.js';
import { LocalSlots } from '../../src/platform/temporal/slots/local-slots.js';
import { createSlotLine, type SlotLine, type SlotRule } from '../../src/platform/temporal/slots/slot-line.js';
import { workflowTaskRule } from '../../src/platform/temporal/slots/workflow-task-rule.js';

/** One of its own each, as the SDK gives them. */
const never = () => new AbortController().signal;
const context = (isSticky: boolean): SlotReserveContext => ({
  slotType: 'workflow',
  taskQueue: 'q',
  workerIdentity: 'w',
  workerBuildId: 'b',
  isSticky,
});
const info: WorkflowSlotInfo = { type: 'workflow', workflowType: 'runFlow', isSticky: false };

/** Tasks that come without end: each slot is asked for again as soon as it is free. */
function flood(rule: SlotRule<typeof info>, slotInfo = info) {
  let nowMs = 0;
  const open: { id: number; permit: object }[] = [];
  const line: SlotLine<typeof info> = createSlotLine(rule, () => nowMs);
  let asked = 0;
  const ask = async (isSticky = false) => {
    asked += 1;
    const id = asked;
    const permit = await line.supplier.reserveSlot(context(isSticky), never());
    line.supplier.markSlotUsed({ slotInfo, permit });
    open.push({ id, permit });
  };
  const settle = () => new Promise<void>((done) => setImmediate(done));
  return {
    line,
    open,
    ask: async (count: number, isSticky = false) => {
      for (let n = 0; n < count; n += 1) void ask(isSticky);
      await settle();
    },
    /** All that are at work end after so long, and as many are asked for. */
    turn: async (ms: number) => {
      nowMs += ms;
      const ended = open.splice(0);
      for (const { permit } of ended) line.supplier.releaseSlot({ slotInfo, permit });
      for (const _ of ended) void ask();
      await settle();
    },
    settle,
  };
}

test('workflow tasks that are slow are taken two at a time, and many again once they are quick', async () => {
  const { ask, turn, open } = flood(workflowTaskRule());
  await ask(100);
  expect(open).toHaveLength(8);
  await turn(2_500);
  await turn(2_500);
  expect(open).toHaveLength(2);
  await turn(9_000);
  expect(open).toHaveLength(2);
  // Neither slow nor quick: it stays as it is.
  await turn(1_000);
  expect(open).toHaveLength(2);
  for (let n = 0; n < 10; n += 1) await turn(5);
  expect(open).toHaveLength(40);
});

test('sticky workflow tasks and others each have a slot, however few there are', async () => {
  const { ask, turn, open } = flood(workflowTaskRule());
  await ask(8);
  await turn(2_500);
  await turn(2_500);
  expect(open).toHaveLength(2);
  await ask(5, true);
  expect(open).toHaveLength(3);
});

test('activities come faster while the event loop keeps up, one a look when it is late, none when it is very late', async () => {
  const rule = activityRule();
  const { ask, open, line, settle } = flood(rule);
  const look = async (lateMs: number) => {
    rule.look(lateMs);
    line.serve();
    await settle();
    return open.length;
  };
  await ask(200);
  // Four of them whatever happens, and the first pace.
  expect(open).toHaveLength(12);
  expect(await look(10)).toBe(28);
  expect(await look(300)).toBe(29);
  expect(await look(4_000)).toBe(29);
  expect(await look(4_000)).toBe(29);
  expect(await look(20)).toBe(37);
  for (let n = 0; n < 5; n += 1) await look(0);
  expect(open).toHaveLength(100);
});

test('a starved worker without activities takes some', async () => {
  const rule = activityRule();
  const { ask, open, turn } = flood(rule);
  rule.look(5_000);
  await ask(50);
  expect(open).toHaveLength(4);
  await turn(60_000);
  expect(open).toHaveLength(4);
});

test('a reservation that is called off leaves the line, and its slot goes to the next one', async () => {
  const rule: SlotRule = { admits: (slots) => slots.length < 1 };
  const { line } = flood(rule);
  const first = await line.supplier.reserveSlot(context(false), never());
  const off = new AbortController();
  const second = line.supplier.reserveSlot(context(false), off.signal);
  const third = line.supplier.reserveSlot(context(false), never());
  off.abort(new Error('called off'));
  await expect(second).rejects.toThrow('called off');
  expect(line.supplier.tryReserveSlot(context(false))).toBeNull();
  line.supplier.releaseSlot({ permit: first });
  expect(await third).toEqual({ id: 2 });
});

test('a first task that waits for its local activity is not slow, and keeps no other task from its slot', async () => {
  let waiting = 0;
  const { ask, turn, open, line, settle } = flood(
    workflowTaskRule(() => waiting),
    { ...info, workflowType: 'runFlowLocal' },
  );
  await ask(100);
  expect(open).toHaveLength(8);
  waiting = 8;
  line.serve();
  await settle();
  expect(open).toHaveLength(16);
  waiting = 0;
  await turn(6_000);
  expect(open).toHaveLength(8);
  await turn(7_500);
  await turn(7_500);
  expect(open).toHaveLength(2);
});

test('work outside activity tasks takes their slots, at most fifty, and gives each back once', () => {
  const slots = new LocalSlots();
  expect(slots.tryTake()).toBeNull();
  const { supplier, tryReserve } = createSlotLine({ admits: (taken) => taken.length < 52 }, () => 0);
  slots.use(tryReserve);
  const taken = Array.from({ length: 51 }, slots.tryTake);
  expect(taken.filter((release) => release !== null)).toHaveLength(50);
  const permits = [1, 2, 3].map(() => supplier.tryReserveSlot(context(false)));
  expect(permits.filter((permit) => permit !== null)).toHaveLength(2);
  taken[0]?.();
  taken[0]?.();
  expect([slots.tryTake() !== null, slots.tryTake()]).toEqual([true, null]);
});
