import type { Failpoint } from '../../../src/shared/failpoint.js';
import type { Ask, Doing, Job, Killed, KilledElsewhere } from './job.js';
import { burst, cancels, event, fires, hook, mail, notifies, redelivers, runsNow, tells } from './outside-jobs.js';

const ACT = '## Act @worker\n\nAct.\n\n## After @worker\n\nAfter.';
const GATE = '## First @worker\n\n1.\n\n## Sign\n\n- approve: human\n\nOK?\n\n## Last @worker\n\n3.';
const GROUP = '## Facts\n\n### Act @worker\n\nL.\n\n### Right @worker\n\nR.\n\n## After @worker\n\nC.';
const LONG = '## Long @worker\n\nTake long.\n\n## After @worker\n\nAfter.';
const HAND = '## Hand @lead\n\nHand on.\n\n## After @worker\n\nAfter.';
const NOTE = '## Note @worker\n\nNote it.\n\n## After @worker\n\nAfter.';
const COUNT = '## Count @counter\n\nCount on.';
const LINE = '## One @worker\n\n1.\n\n## Nap\n\n- wait: 1s\n\n## Two @worker\n\n2.';
const EVENT = '## Ask @worker\n\n- wait: event\n\nAsk.\n\n## After @worker\n\nC.';
const ALL = '## First @worker\n\n1.\n\n## Sign\n\n- approve: human\n- need: 2\n\nOK?\n\n## Last @worker\n\n3.';
const LATE =
  '## Draft @worker\n\nD.\n\n## Reply\n\n- wait: event\n- timeout: 1s\n- on_timeout: draft\n- max_rounds: 1\n- on_fail: continue\n\nWait.';
const EXPIRES =
  '## Draft @worker\n\nD.\n\n## Sign\n\n- approve: human\n- timeout: 1s\n- on_timeout: draft\n- max_rounds: 1\n- on_fail: continue\n\nOK?';

const ONE = { 'workspace.create': 1, 'run.start': 1 };
const COMPLETED = { status: 'completed', error: null };

const runsOnce = async (doing: Doing) => {
  const id = await doing.start();
  await doing.drive(id);
  return [id];
};

/** A run from its start to its end. */
const run = (name: string, flow: string, more: Partial<Job> = {}): Job => ({
  name,
  flow,
  does: runsOnce,
  shows: COMPLETED,
  did: flow.includes('approve:') ? { ...ONE, 'run.decide': 1 } : ONE,
  ...more,
});

const deploys = (name: string, nth: number): Job => ({
  name,
  nth,
  async does({ post }) {
    const files = [{ path: 'AGENTS.md', content: '# Shop\n\nBe very brief.\n' }];
    await post({ path: 'deploy', body: { message: 'Second', files } });
    return [];
  },
  did: { 'workspace.create': 1, 'workspace.deploy': 1 },
});

/** Back to the first of two deploys: done twice there would be one commit more. */
const goesBackTo = (name: string): Job => ({
  name,
  nth: 4,
  async does({ post }) {
    const tree = (text: string) => [{ path: 'AGENTS.md', content: `# Shop\n\n${text}\n` }];
    const { commit } = await post({ path: 'deploy', body: { files: tree('First.') } });
    await post({ path: 'deploy', body: { files: tree('Second.') } });
    await post({ path: 'repo', body: { action: 'deploy', ref: commit } });
    return [];
  },
  did: { 'workspace.create': 1, 'workspace.deploy': 3 },
});

const creates = (name: string): Job => ({ name, does: async () => [], did: { 'workspace.create': 1 } });

const reruns = (name: string, nth: number): Job => ({
  name,
  nth,
  flow: ACT,
  async does(doing) {
    const old = await doing.start();
    await doing.drive(old);
    const { runId } = await doing.post({ path: `runs/${old}/rerun`, body: { step: 2 } });
    await doing.drive(String(runId));
    return [old, String(runId)];
  },
  shows: { ...COMPLETED, from: 2, steps: [{ copied: true }, { status: 'completed' }] },
  did: { ...ONE, 'run.rerun': 1 },
});

const decides = (name: string, nth: number): Job => ({
  ...run(name, GATE),
  nth,
  async does(doing) {
    const id = await doing.start();
    await doing.untilWaiting(id);
    await doing.post({ path: `runs/${id}/approve`, body: { decision: 'approve', note: 'fine' } });
    await doing.drive(id, 'alone');
    return [id];
  },
});

const votes: Job = {
  ...run('a gate that two people have to approve, between the votes', ALL),
  async does(doing) {
    const id = await doing.start();
    await doing.untilWaiting(id);
    const path = `runs/${id}/approve`;
    await doing.post({ path, body: { decision: 'approve' } });
    await doing.post({ path, body: { decision: 'approve', note: 'second' }, as: 'second' });
    await doing.drive(id, 'alone');
    return [id];
  },
  shows: { ...COMPLETED, steps: [{}, { decision: { decision: 'approve', note: 'second' } }, {}] },
  did: { ...ONE, 'run.decide': 2 },
};

const goesBack = (name: string, flow: string): Job => ({
  ...run(name, flow, { did: ONE }),
  async does(doing) {
    const id = await doing.start();
    await doing.drive(id, 'alone');
    return [id];
  },
  shows: {
    status: 'completed',
    steps: [
      { status: 'completed', round: 2 },
      { status: 'failed', round: 2 },
    ],
  },
});

const line: Partial<Job> = {
  keys: 'concurrency: { limit: 1 }\n',
  async does(doing) {
    const ids = [await doing.start(), await doing.start(), await doing.start()];
    await Promise.all(ids.map((id) => doing.drive(id)));
    return ids;
  },
  did: { 'workspace.create': 1, 'run.start': 3 },
};

const agentRuns = (nth: number): Job => ({
  name: 'POST /api/workspaces/{ws}/agents/{agent}/run',
  nth,
  async does(doing) {
    const { runId } = await doing.post({ path: 'agents/worker/run', body: { task: 'go' } });
    await doing.drive(String(runId));
    return [String(runId)];
  },
  shows: COMPLETED,
  did: ONE,
});

const CASE = `## It works

### Input

go

### Expect

- status: completed
- It did what it was asked.
`;

/** An eval, with its case's run and the judge's call. */
const evaluates = (name: string, nth = 1): Job => ({
  name,
  nth,
  flow: '## First @worker\n\n1.',
  cases: CASE,
  does: (doing) => doing.evaluate(),
  shows: COMPLETED,
  did: { 'workspace.create': 1, 'eval.run': 1 },
});

/** A write of one document, asked for once more after the kill. */
const writes = (name: string, ask: Ask, done: string): Job => ({
  name,
  nth: 2,
  flow: ACT,
  async does({ post }) {
    await post(ask);
    return [];
  },
  did: { 'workspace.create': 1, 'source.edit': 1, [done]: 1 },
});

/** The library is the account's: twice made would be refused, as its name is taken. */
const shelves = (name: string): Job => ({
  name,
  nth: 2,
  flow: ACT,
  async does({ post }) {
    await post({ path: '../../library/knowledge', body: { name: 'house-rules' } });
    return [];
  },
  did: { 'workspace.create': 1 },
});

const promotes = (name: string): Job => ({
  name,
  nth: 3,
  flow: ACT,
  async does(doing) {
    const id = await doing.start();
    await doing.drive(id);
    await doing.post({ path: `runs/${id}/promote`, body: {} });
    return [id];
  },
  shows: COMPLETED,
  did: { ...ONE, 'source.edit': 1, 'run.promote': 1 },
});

/** Creating the workspace is the first thing that every job does, with an Idempotency-Key as all it asks for. */
export const KEYED: readonly Job[] = [
  creates('POST /api/workspaces'),
  deploys('POST /api/workspaces/{ws}/deploy', 2),
  goesBackTo('POST /api/workspaces/{ws}/repo'),
  run('POST /api/workspaces/{ws}/flows/{flow}/run', ACT, { nth: 2 }),
  agentRuns(2),
  reruns('POST /api/workspaces/{ws}/runs/{id}/rerun', 3),
  decides('POST /api/workspaces/{ws}/runs/{id}/approve', 3),
  evaluates('POST /api/workspaces/{ws}/evals/{eval}/run', 2),
  shelves('POST /api/library/{kind}'),
  promotes('POST /api/workspaces/{ws}/runs/{id}/promote'),
  runsNow('POST /api/schedule', 2),
  redelivers('POST /api/workspaces/{ws}/hooks/{flow}/deliveries/{id}/redeliver'),
  writes('POST /api/workspaces/{ws}/agents', { path: 'agents', body: { name: 'clerk' } }, 'agent.create'),
  writes(
    'POST /api/workspaces/{ws}/assets',
    { path: 'assets', body: { kind: 'knowledge', name: 'tone' } },
    'knowledge.create',
  ),
  writes(
    'POST /api/workspaces/{ws}/flows',
    { path: 'flows', body: { name: 'second', pattern: 'chain' } },
    'flow.create',
  ),
  writes(
    'POST /api/workspaces/{ws}/flows/{flow}',
    { path: 'flows/it', body: { target: 'worker', instruction: 'Go on.' } },
    'flow.change',
  ),
];

/** For every failpoint the work that is killed there. */
export const JOBS = {
  'key-claimed': { in: 'api', jobs: [run('a start', ACT, { nth: 2 })] },
  'answer-unsent': { in: 'api', jobs: KEYED },
  'run-committed': { in: 'api', jobs: [run('a start', ACT), reruns('a rerun', 2)] },
  'steps-copying': { in: 'api', jobs: [reruns('a rerun', 1)] },
  'outbox-sent': { in: 'api', jobs: [run('a start', ACT)] },
  'first-begun': { in: 'worker', jobs: [run('a step with tools', ACT)] },
  'first-carried': { in: 'worker', jobs: [run('a step that takes long', LONG)] },
  'first-taken-over': { in: 'worker', jobs: [run('a step that takes long', LONG)] },
  'lane-claimed': { in: 'worker', jobs: [run('a step with tools', ACT)] },
  'model-started': { in: 'worker', jobs: [run('a step with tools', ACT)] },
  'model-answered': { in: 'worker', jobs: [run('a step with tools', ACT)] },
  'model-cut': { elsewhere: 'test/e2e/fire-budget.test.ts' },
  'compaction-started': { in: 'worker', jobs: [run('a conversation that outgrows its model', COUNT)] },
  'compaction-answered': { in: 'worker', jobs: [run('a conversation that outgrows its model', COUNT)] },
  'tool-started': { in: 'worker', jobs: [run('a step with tools', ACT)] },
  'tool-done': {
    in: 'worker',
    jobs: [
      run('a step with tools', ACT),
      run('a write to memory', NOTE, { shows: { ...COMPLETED, memoryWrites: ['memory/worker/note.md'] } }),
    ],
  },
  'handed-over': { in: 'worker', jobs: [run('agents that hand work on', HAND)] },
  parked: { in: 'worker', jobs: [run('a gate', GATE)] },
  forked: { in: 'worker', jobs: [run('a group', GROUP)] },
  'step-done-before-report': { in: 'worker', jobs: [run('a step with tools', ACT)] },
  'slot-waiting': { in: 'worker', jobs: [run('runs in line', LINE, line)] },
  'slot-taken': { in: 'worker', jobs: [run('runs in line', LINE, line)] },
  'slot-unneeded': { in: 'worker', jobs: [run('runs in line', LINE, line)] },
  'vote-counted': { in: 'api', jobs: [votes] },
  'decision-committed': {
    in: 'api',
    jobs: [decides('a gate', 1), run('an event', EVENT, { did: { ...ONE, 'run.event': 1 } })],
  },
  'timeout-committed': {
    in: 'worker',
    jobs: [goesBack('an event that goes back to a step', LATE), goesBack('a gate that goes back to a step', EXPIRES)],
  },
  'signal-sent': { in: 'api', jobs: [run('a gate', GATE)] },
  'judge-asked': { in: 'worker', jobs: [evaluates('an eval')] },
  'judge-answered': { in: 'worker', jobs: [evaluates('an eval')] },
  'objects-written': { in: 'api', jobs: [creates('the first revision'), deploys('a deploy', 2)] },
  'revision-written': { in: 'api', jobs: [deploys('a deploy', 2)] },
  'pointer-swapped': { in: 'api', jobs: [deploys('a deploy', 1)] },
  'delivery-written': { in: 'api', jobs: [mail] },
  'delivery-committed': { in: 'api', jobs: [hook, burst(1)] },
  'burst-taken': { in: 'worker', jobs: [burst(2)] },
  'event-taken': { in: 'worker', jobs: [event] },
  'schedule-synced': { in: 'worker', jobs: [tells] },
  'last-ended': { in: 'worker', jobs: [cancels] },
  'firing-written': { in: 'worker', jobs: [fires] },
  'firing-committed': { in: 'worker', jobs: [fires] },
  'notification-claimed': { in: 'worker', jobs: [notifies(1)] },
  'notification-sent': { in: 'worker', jobs: [notifies(2)] },
  'rows-erased': { elsewhere: 'test/git/push-crash.test.ts' },
  'push-received': { elsewhere: 'test/git/push-crash.test.ts' },
  'pack-stored': { elsewhere: 'test/git/push-crash.test.ts' },
  'push-parked': { elsewhere: 'test/git/push-crash.test.ts' },
  'push-merged': { elsewhere: 'test/git/push-crash.test.ts' },
  'refresh-answered': { elsewhere: 'test/api/live-token.test.ts' },
} as const satisfies Record<Failpoint, Killed | KilledElsewhere>;
