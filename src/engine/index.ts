export { advanceLane } from './advance.js';
export {
  assertNotPoison,
  countDeaths,
  type Deaths,
  deathFields,
  NO_DEATHS,
  startMark,
  whenSafe,
} from './agent/deaths.js';
export { callDigest } from './agent/gated-calls.js';
export { judgeFailures, storedWaited, type Waited, waitFields } from './agent/judge-failures.js';
export { type FailedModel, IN_PLACE_TRIES, waitInPlace } from './agent/try-models.js';
export { evalKeyOf } from './cases/lane-case.js';
export { CarriedElsewhere, isTransient, Poison } from './errors.js';
export { FirstAdvances } from './first-advances.js';
export type { HeldUp } from './journal/claim.js';
export { lanePlanOf } from './lane/lane-plan.js';
export { abortLive } from './live.js';
export { startEngineLoops } from './loops/start-engine-loops.js';
export { assertMonths } from './months/assert-months.js';
export { correctMonths } from './months/correct-months.js';
export { type MonthBudget, readMonthBudgets } from './months/month-budgets.js';
export { announceRuns } from './outbox/announce-runs.js';
export { enqueueOutbox, outboxQueue, sweepOutbox } from './outbox/outbox.js';
export { reconcile } from './outbox/reconcile.js';
export { appendEvent } from './rows/append-event.js';
export { closeRun } from './rows/close-run.js';
export { DELTA_CHANNEL } from './rows/deltas.js';
export { endRuns } from './rows/end-runs.js';
export { insertRun } from './rows/insert-run.js';
export { bookUsage, reserveIn, settleHolds } from './rows/ledger.js';
export { EVENT_CHANNEL, notifyStreams } from './rows/notify-streams.js';
export { releaseUrlOf } from './rows/release-url.js';
export { escalateGate, tickPark } from './rows/tick-park.js';
export { admitRun, isFull } from './slots/admit-run.js';
export { type SlotClaim, slotOf } from './slots/slot-of.js';
export { lockSlots } from './slots/slot-rows.js';
export { sweepSlots } from './slots/sweep-slots.js';
export { type BudgetGate, type GateCall, type GateSpec, isBudgetGate } from './steps/gate-spec.js';
export { runToolTest } from './tool-test/run-tool-test.js';
export type { ToolTestResult, ToolTestSpec } from './tool-test/tool-test-row.js';
