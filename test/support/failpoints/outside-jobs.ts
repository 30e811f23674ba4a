import type { Doing, Job } from './job.js';

const STEP = '## After @worker\n\nAfter.';
const GATE = '## Sign\n\n- approve: human\n\nOK?';
const SCHEDULED = 'trigger: schedule\ncron: "{half a day away}"\n';
const ONE = { 'workspace.create': 1, 'run.start': 1 };
const COMPLETED = { status: 'completed', error: null };

async function driveAll({ outside, drive }: Doing, count: number): Promise<readonly string[]> {
  const ids = await outside.runs(count);
  await Promise.all(ids.map((id) => drive(id)));
  return ids;
}

export const hook: Job = {
  name: 'a hook',
  flow: STEP,
  keys: 'trigger: webhook\n',
  async does(doing) {
    const { runId } = await doing.outside.hook('1', { n: 1 });
    await doing.drive(String(runId));
    return driveAll(doing, 1);
  },
  shows: { ...COMPLETED, input: { n: 1 } },
  did: ONE,
};

/** A delivery that an admin makes again. */
export const redelivers = (name: string): Job => ({
  name,
  nth: 2,
  flow: STEP,
  keys: 'trigger: webhook\n',
  async does(doing) {
    const { runId } = await doing.outside.hook('1', { n: 1 });
    await doing.drive(String(runId));
    const id = await doing.outside.delivery();
    const again = await doing.post({ path: `hooks/it/deliveries/${id}/redeliver`, body: {} });
    await doing.drive(String(again.runId));
    return driveAll(doing, 2);
  },
  shows: { ...COMPLETED, input: { n: 1 }, trigger: { kind: 'webhook' } },
  did: { ...ONE, 'hook.redeliver': 1 },
});

export const mail: Job = {
  name: 'a mail with a file',
  flow: STEP,
  keys: 'trigger: email\n',
  async does(doing) {
    const file = { filename: 'a.txt', content: Buffer.from('A').toString('base64') };
    await doing.outside.mail('1', { from: 'ada@x.test', subject: 'Hi', text: 'Hello', attachments: [file] });
    const kept = await doing.outside.files();
    if (kept.length !== 1) throw new Error(`the mail’s file is kept ${kept.length} times: ${kept.join(', ')}`);
    return driveAll(doing, 1);
  },
  shows: { ...COMPLETED, input: { attachments: [{ name: 'a.txt', size: 1 }] } },
  did: ONE,
};

/** A burst of so many deliveries. */
export const burst = (count: number): Job => ({
  name: `a burst of ${count}`,
  flow: STEP,
  keys: `trigger: webhook\ndedupe: body.order\ndebounce: ${2 * count - 1}s\n`,
  async does(doing) {
    for (let n = 1; n <= count; n += 1) await doing.outside.hook(String(n), { order: 7, n });
    return driveAll(doing, 1);
  },
  shows: { ...COMPLETED, input: { n: count }, trigger: { deliveries: count } },
  did: ONE,
});

export const event: Job = {
  name: 'a flow that another one’s end starts',
  flow: STEP,
  keys: 'trigger: event\nevent: run.completed\n',
  files: { 'flows/first.md': `---\ndescription: First.\n---\n\n${STEP}\n` },
  async does(doing) {
    await doing.post({ path: 'flows/first/run', body: { task: 'go' } });
    return driveAll(doing, 2);
  },
  shows: { ...COMPLETED, flow: 'it', trigger: { kind: 'event', chain: ['it'] } },
  did: { ...ONE, 'run.start': 2 },
};

export const tells: Job = {
  name: 'a deploy of a schedule',
  flow: STEP,
  keys: SCHEDULED,
  async does({ outside }) {
    await outside.told();
    return [];
  },
  did: { 'workspace.create': 1 },
};

export const fires: Job = {
  name: 'a time that is due',
  flow: STEP,
  keys: SCHEDULED,
  async does(doing) {
    await doing.outside.makeDue();
    return driveAll(doing, 1);
  },
  shows: { ...COMPLETED, trigger: { kind: 'schedule' } },
  did: ONE,
};

export const cancels: Job = {
  name: 'a time that ends the run before it',
  flow: GATE,
  keys: `${SCHEDULED}overlap: cancel\n`,
  async does(doing) {
    const { runId } = await doing.post(runNow(doing.workspace));
    await doing.untilWaiting(String(runId));
    await doing.outside.makeDue();
    const next = (await doing.outside.runs(2)).filter((id) => id !== runId);
    await Promise.all(next.map((id) => doing.drive(id)));
    const before = await doing.drive(String(runId), 'alone');
    if (before.status !== 'failed' || !before.error?.includes('overlap: cancel'))
      throw new Error(`the run before it is ${before.status}: ${before.error}`);
    return next;
  },
  shows: { ...COMPLETED, trigger: { kind: 'schedule' } },
  did: { ...ONE, 'run.start': 2, 'schedule.run-now': 1, 'run.decide': 1 },
};

/** A notification that must come so often, always under one id, so that its receiver can tell. */
export const notifies = (times: number): Job => ({
  name: 'a POST of a run’s end',
  flow: STEP,
  keys: 'notify: { url: "{receiver}", events: [run.completed] }\n',
  async does(doing) {
    const id = await doing.start();
    await doing.drive(id);
    const { sent, received } = await doing.outside.received();
    const wanted = Array.from({ length: times }, () => sent[0]?.id);
    if (sent.length !== 1 || JSON.stringify(received) !== JSON.stringify(wanted))
      throw new Error(`noted: ${JSON.stringify(sent)}; received: ${received.join(', ')}`);
    return [id];
  },
  shows: COMPLETED,
  did: ONE,
});

const runNow = (workspace: string) => ({
  path: '../../schedule',
  body: { workspace, flow: 'it', action: 'run-now' },
});

/** A run that a person asks of a schedule, under an Idempotency-Key. */
export const runsNow = (name: string, nth: number): Job => ({
  name,
  nth,
  flow: STEP,
  keys: SCHEDULED,
  async does(doing) {
    const { runId } = await doing.post(runNow(doing.workspace));
    await doing.drive(String(runId));
    return [String(runId)];
  },
  shows: COMPLETED,
  did: { ...ONE, 'schedule.run-now': 1 },
});
