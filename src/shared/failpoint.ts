/** The places where a test can kill the process, with what is half done there: security.md, "How it is tested". */
export const FAILPOINTS = {
  'key-claimed': 'a request with an Idempotency-Key: it holds its key, and nothing has been done',
  'answer-unsent': 'a request with an Idempotency-Key: all is committed, and the caller has no answer',
  'run-committed': 'a start: the run is committed, and its outbox row is not dispatched',
  'steps-copying': 'a rerun: its row and the results it takes over are written, and nothing is committed',
  'outbox-sent': 'a start: Temporal has it, and the outbox still asks for it',
  'first-begun': 'a first advance as a local activity: the lane is not claimed',
  'first-carried': 'a first advance that takes long: it continues, and its workflow does not know',
  'first-taken-over': 'a first advance that takes long: the next turn has taken it over',
  'lane-claimed': 'an advance: the lane is fenced, and no step has begun',
  'model-started': 'a model call: its start is recorded, and the request has not left',
  'model-answered': 'a model call: the answer is whole, and not recorded',
  'model-cut': 'a model call: its interrupted answer is booked, and the call is not retried yet',
  'compaction-started': 'a compaction: the summary is asked for, and the request has not left',
  'compaction-answered': 'a compaction: the summary is paid for, and the new epoch is not begun',
  'tool-started': 'tool calls: their starts are recorded, and none has acted',
  'tool-done': 'a tool call: it has acted and its files are kept, and its end is not recorded',
  'handed-over': 'a delegation to sub-agents: their runs are written, and Temporal does not know that the lane waits',
  parked: 'a wait: the park is written, and Temporal does not know that the lane stopped',
  forked: 'a group: the rows of its lanes are written, and none is begun',
  'step-done-before-report': 'an advance: all it did is written, and Temporal has no result',
  'slot-waiting': 'concurrency: the run waits for a slot, and its lane has not stopped',
  'slot-taken': 'concurrency: the run holds its slot, and no step has begun',
  'slot-unneeded': 'concurrency: the lane has stopped, and its slot is still held',
  'vote-counted': 'a gate that needs several: a vote is committed, and the gate stays open',
  'decision-committed': 'a decision or an event: it is committed, and the run has not been woken',
  'timeout-committed': 'a gate or an event whose time is over: that is committed, and the lane has not continued',
  'signal-sent': 'a decision or an event: the run is woken, and the outbox still asks for it',
  'judge-asked': 'an eval’s judge: what it may cost is set aside, and the request has not left',
  'judge-answered': 'an eval’s judge: the answer is whole, and not recorded',
  'objects-written': 'a deploy: git has the commit, and no row is written',
  'revision-written': 'a deploy: the revision’s rows are written, and it is not live',
  'pointer-swapped': 'a deploy or a push: the revision is live, and the branch in git is not moved',
  'rows-erased': 'a workspace or preview that is deleted: its rows are gone, and its repository and files are not',
  'delivery-written': 'a delivery: its files are stored, its key and its run are written, and nothing is committed',
  'delivery-committed': 'a delivery: all of it is committed, and neither its sender nor Temporal is notified',
  'burst-taken': 'a burst that is quiet: it is taken up and its run is written, and nothing is committed',
  'event-taken': 'an event of a workspace: it is taken up and its runs are written, and nothing is committed',
  'schedule-synced': 'a schedule: Temporal has it, and its row is not marked synced',
  'last-ended': 'a schedule with overlap: cancel: its last run is ended, and the next one is not begun',
  'firing-written': 'a schedule’s time: its run and its outcome are written, and nothing is committed',
  'firing-committed': 'a schedule’s time: all of it is committed, and Temporal knows of no run',
  'notification-claimed': 'a notification: it is taken to be sent, and has not left',
  'notification-sent': 'a notification: its receiver has it, and it is not noted as sent',
  'push-received': 'a push: its pack is checked in a quarantine, and nothing else knows of it',
  'pack-stored': 'a push: its pack is in the object store, and no ref has moved',
  'push-parked': 'a push over live runs: it waits, and its workflow is not started',
  'push-merged': 'a push that waited: its merge is made and kept, and it is not live',
  'refresh-answered': 'an OAuth token: the provider has answered, and the answer is not stored',
} as const satisfies Record<string, string>;
export type Failpoint = keyof typeof FAILPOINTS;

/**
 * A leftover variable must never kill a service: failpoints work only in a process that was started with this argument,
 * which no environment can set.
 */
export const FAILPOINT_FLAG = '--with-failpoints';

let armed: { readonly name: string; left: number } | null = null;

/** Arms `<name>`, or `<name>*<n>` for the n-th pass; null arms none. Throws on an unknown name. */
export function armFailpoint(text: string | null): void {
  armed = text === null ? null : readFailpoint(text);
}

/** Arms the failpoint of the environment if the process was started for it. Reports either way. */
export function armIfAllowed(text: string | null, report: (text: string) => void): void {
  if (text === null) return;
  if (!process.argv.includes(FAILPOINT_FLAG)) {
    report(`SERVICE_FAILPOINT=${text} is ignored: it is for tests, and works only with ${FAILPOINT_FLAG}. Unset it.`);
    return;
  }
  armFailpoint(text);
  report(`${FAILPOINT_FLAG}: THIS PROCESS KILLS ITSELF AT ${text}. It is for tests only.`);
}

function readFailpoint(text: string): { name: string; left: number } {
  const [, name = '', times = '1'] = /^([a-z-]+)(?:\*(\d{1,4}))?$/.exec(text) ?? [];
  if (Object.hasOwn(FAILPOINTS, name)) return { name, left: Number(times) };
  const names = Object.keys(FAILPOINTS).join(', ');
  throw new Error(
    `SERVICE_FAILPOINT: unknown failpoint ${text}: use one of ${names}, with *<n> behind it for the n-th time`,
  );
}

/**
 * Kills the process when it passes this failpoint while armed for this pass. Uses SIGKILL, so that nothing cleans up.
 */
export function failpoint(name: Failpoint): void {
  if (armed?.name !== name) return;
  armed.left -= 1;
  if (armed.left === 0) process.kill(process.pid, 'SIGKILL');
}
