import { setTimeout as wait } from 'node:timers/promises';
import type { Cast } from './cast.js';
import { FILES, type FlowName, kindOf } from './flows.js';
import type { Random } from './random.js';

export const WORKSPACE = 'storm';

export interface Order {
  readonly flow: FlowName;
  /** A tag of the run that no other run has. */
  readonly tag: string;
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** People and programs that use the service, with the patience that the service asks for. */
export class Client {
  /** How often each park was decided with a 200. */
  readonly decided = new Map<string, number>();
  private ended = false;

  constructor(
    private readonly cast: Cast,
    private readonly random: Random,
  ) {}

  end(): void {
    this.ended = true;
  }

  /** Null without an answer. */
  private async ask(path: string, method: string, body?: object, headers: object = {}): Promise<Answer | null> {
    try {
      const response = await fetch(`${this.cast.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${this.cast.key()}`, 'content-type': 'application/json', ...headers },
        signal: AbortSignal.timeout(10_000),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: (await response.json()) as Answer['body'] };
    } catch {
      return null;
    }
  }

  async makeWorkspace(): Promise<void> {
    const answer = await this.ask('/api/workspaces', 'POST', { name: WORKSPACE, files: FILES });
    if (answer?.status !== 201) throw new Error(`no workspace: ${JSON.stringify(answer)}`);
  }

  /**
   * Starts a run, once. An answer that was lost is asked for again under the same key, until it comes: a key whose
   * process has died is taken over.
   */
  async start({ flow, tag }: Order): Promise<void> {
    const body = { task: 'go', tags: [tag, 'x', 'y'] };
    const headers = { 'idempotency-key': tag };
    while (!this.ended) {
      const answer = await this.ask(`/api/workspaces/${WORKSPACE}/flows/${flow}/run`, 'POST', body, headers);
      if (answer?.status === 202) return;
      if (answer !== null && answer.status < 500 && ![409, 429].includes(answer.status))
        throw new Error(`${flow} was not started: ${JSON.stringify(answer)}`);
      await wait(200);
    }
  }

  /** Decides open gates and stops runs, now and then twice at once, until it is ended. */
  async decideAll(): Promise<void> {
    const busy = new Set<string>();
    while (!this.ended) {
      await wait(150);
      for (const { key, work } of await this.open().catch(() => [])) {
        if (busy.has(key) || busy.size >= 8 || !this.random.chance(0.4)) continue;
        busy.add(key);
        const times = this.random.chance(0.2) ? 2 : 1;
        void Promise.all(Array.from({ length: times }, work)).finally(() => busy.delete(key));
      }
    }
  }

  private async open(): Promise<{ key: string; work: () => Promise<void> }[]> {
    const parks = await this.cast.db.query<{ id: string; run: string; kind: string; n: number; flow: FlowName }>(
      `SELECT p.id, p.run_id AS run, p.kind, (p.spec->>'n')::int AS n, r.flow FROM park p JOIN run r ON r.id = p.run_id
        WHERE p.decided_at IS NULL AND p.kind IN ('approval', 'event')`,
    );
    const stops = await this.cast.db.query<{ id: string }>(
      `SELECT id FROM run WHERE flow = 'stop' AND finished_at IS NULL AND created_at < now() - interval '2 seconds'`,
    );
    return [
      ...parks.map((park) => ({
        key: park.id,
        work: () => (park.kind === 'event' ? this.release(park) : this.approve(park)),
      })),
      ...stops.map(({ id }) => ({ key: id, work: () => this.stop(id) })),
    ];
  }

  private async approve({ id, run, n, flow }: { id: string; run: string; n: number; flow: FlowName }): Promise<void> {
    const decision = kindOf(flow).decision ?? 'approve';
    const answer = await this.ask(`/api/workspaces/${WORKSPACE}/runs/${run}/approve`, 'POST', { decision, step: n });
    this.count(id, answer);
  }

  private async release({ id, run }: { id: string; run: string }): Promise<void> {
    const seen = await this.ask(`/api/workspaces/${WORKSPACE}/runs/${run}`, 'GET');
    const waiting = (seen?.body.waiting ?? []) as { kind: string; releaseUrl?: string }[];
    const url = waiting.find(({ kind }) => kind === 'event')?.releaseUrl;
    if (url === undefined) return;
    const { pathname, search } = new URL(url);
    this.count(id, await this.ask(pathname + search, 'POST', { parcel: 'arrived' }));
  }

  private async stop(run: string): Promise<void> {
    await this.ask(`/api/workspaces/${WORKSPACE}/runs/${run}/stop`, 'POST', {});
  }

  private count(park: string, answer: Answer | null): void {
    if (answer?.status === 200) this.decided.set(park, (this.decided.get(park) ?? 0) + 1);
  }
}
