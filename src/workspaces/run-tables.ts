/** Every table whose rows are one run's alone, by its `run_id`. Slots, messages to Temporal and sandboxes outlive some of it. */
export const RUN_TABLES = [
  'hold',
  'eval_canned',
  'run_file',
  'run_event',
  'message',
  'call',
  'park',
  'step',
  'lane',
] as const;
