/** The tables whose rows belong to one run, by `run_id`. Slots, outbox rows and sandboxes may outlive them. */
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
