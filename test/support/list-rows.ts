import { newId } from '../../src/shared/ids.js';
import { type AccessStage, startRun } from './access-stage.js';
import { parked } from './writes.js';

const SCHEDULED = '---\ntrigger: schedule\ncron: "0 9 * * *"\n---\n\n## Say it @writer\n\nSay hello.\n';

/** Things for every list of the API, three of each at least. Answers the run that has events and messages. */
export async function fillLists(stage: AccessStage): Promise<string> {
  const { app, workspace } = stage;
  const put = async (path: string, body: object) => requireOk(app.put(path, body));
  const post = async (path: string, body: object) => requireOk(app.post(path, body));
  for (const n of [1, 2, 3]) {
    const files = {
      [`flows/daily-${n}.md`]: SCHEDULED,
      [`agents/writer-${n}.md`]: '---\ndescription: Writes.\n---\n\nYou write.\n',
      [`evals/checks-${n}.md`]: `---\ntarget: flows/hello\ntrigger: manual\n---\n\n## One\n\nHello.\n\n### Expect\n\n- status: completed\n`,
    };
    for (const [path, content] of Object.entries(files))
      await put(`/api/workspaces/${workspace}/source`, { path, content });
    await app.workspace();
    await put('/api/secrets', { name: `S_${n}`, value: 'a long value' });
    await put('/api/secrets', { name: `S_${n}`, value: 'a long value', workspace });
    await put('/api/library/knowledge', { path: `knowledge/note-${n}.md`, content: '# A note\n' });
    await post('/api/oauth/clients', {
      name: `c-${n}`,
      client: 'abc',
      config: {
        authorize_url: 'https://example.com/authorize',
        token_url: 'https://example.com/token',
        client_secret: 'some-secret',
      },
    });
    await post('/api/keys', { label: `key ${n}` });
    await app.request('/api/team', {
      ...(await stage.as('owner', 'session')),
      method: 'POST',
      headers: { ...(await stage.as('owner', 'session')).headers, 'content-type': 'application/json' },
      body: JSON.stringify({ email: `${newId()}@x.test`, send: false }),
    });
    await post(`/api/workspaces/${workspace}/evals/checks/run`, {});
    await parked(stage, 'approval');
    await insertRows(stage);
  }
  const run = await startRun(app, workspace);
  await app.deps.db.query(
    `INSERT INTO run_event (run_id, seq, type, data) SELECT $1, 100 + n, 'step.started', '{"step":"say_it"}' FROM generate_series(1, 3) n`,
    [run],
  );
  await app.deps.db.query(
    `INSERT INTO message (run_id, step, item, round, attempt, epoch, seq, role, content)
      SELECT $1, 'say_it', 0, 1, 1, 0, n, 'assistant', '{"text":"a"}' FROM generate_series(1, 3) n`,
    [run],
  );
  return run;
}

/** Rows that only others make: deliveries, pushes of a code host, notifications. */
async function insertRows({ app, workspace }: AccessStage): Promise<void> {
  const { db } = app.deps;
  const [row] = await db.query<{ id: string }>('SELECT id FROM workspace WHERE tenant_id = $1 AND name = $2', [
    app.tenant,
    workspace,
  ]);
  const id = newId();
  await db.query(
    `INSERT INTO delivery (id, workspace_id, flow, kind, outcome) VALUES ($1, $2, 'hello', 'webhook', 'filtered')`,
    [id, row?.id],
  );
  await db.query(
    `INSERT INTO code_push (id, workspace_id, state, detail, address, tries, ended_at) VALUES ($1, $2, 'refused', '', null, 1, now())`,
    [`unsigned.${id}`, row?.id],
  );
  await db.query(
    `INSERT INTO notification (id, tenant_id, event, channel, target, content, state)
      VALUES ($1, $2, 'run.failed', 'mail', 'a@x.test', '{"subject":"x"}', 'sent')`,
    [id, app.tenant],
  );
}

async function requireOk(sent: Promise<Response>): Promise<void> {
  const response = await sent;
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
}
