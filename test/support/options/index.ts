import { DECIDER_ROWS } from './decider-rows.js';
import { AGENT_ROWS, FLOW_ROWS, GROUP_ROWS } from './flow-rows.js';
import { LIMIT_ROWS } from './limit-rows.js';
import { ORDER_ROWS } from './order-rows.js';
import type { NamedCase, OptionRow } from './row.js';
import { SLOT_ROWS } from './slot-rows.js';
import { WAIT_ROWS } from './wait-rows.js';
import { WORK_ROWS } from './work-rows.js';

export const ROWS: readonly OptionRow[] = [
  ...WORK_ROWS,
  ...ORDER_ROWS,
  ...LIMIT_ROWS,
  ...WAIT_ROWS,
  ...DECIDER_ROWS,
  ...GROUP_ROWS,
  ...FLOW_ROWS,
  ...SLOT_ROWS,
  ...AGENT_ROWS,
];

export const CASES: readonly NamedCase[] = ROWS.flatMap((row) =>
  Object.entries(row.cases).map(([name, option]) => ({ name, row, option })),
);
