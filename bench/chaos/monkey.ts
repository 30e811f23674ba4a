import { setTimeout as wait } from 'node:timers/promises';
import { ACTORS, type ActorName, type Cast } from './cast.js';
import type { Random } from './random.js';

const STRIKES = ['kill', 'pause', 'restart'] as const;
type Strike = (typeof STRIKES)[number];

/** Servers come back more slowly the oftener they end, as their supervisor has it: they are struck less often. */
const WEIGHTS = { api: 3, 'worker-1': 5, 'worker-2': 5, postgres: 1, temporal: 1 } as const satisfies Record<
  ActorName,
  number
>;
const TARGETS = ACTORS.flatMap((actor) => Array.from({ length: WEIGHTS[actor] }, () => actor)) as [
  ActorName,
  ...ActorName[],
];

/** What asks a process to end well and start again. */
const END = {
  api: 'SIGTERM',
  'worker-1': 'SIGTERM',
  'worker-2': 'SIGTERM',
  postgres: 'SIGINT',
  temporal: 'SIGTERM',
} as const;

export type Strikes = Record<Strike, Partial<Record<ActorName, number>>>;

/**
 * Strikes one process after the other until it is stopped; then it resumes all that it paused. Of three strikes one
 * is of each kind: chance alone left the kills out of a short storm.
 */
export async function storm(cast: Cast, random: Random, until: number): Promise<Strikes> {
  const strikes: Strikes = { kill: {}, pause: {}, restart: {} };
  const pauses = new Map<ActorName, Promise<void>>();
  let bag: Strike[] = [];
  while (Date.now() < until) {
    await wait(random.between(400, 2_500));
    const actor = random.pick(TARGETS);
    if (bag.length === 0) bag = [...STRIKES];
    const strike = random.pick(bag as [Strike, ...Strike[]]);
    const length = random.between(500, 8_000);
    const pid = cast.pid(actor);
    if (
      pid === null ||
      pauses.has(actor) ||
      !send(pid, strike === 'kill' ? 'SIGKILL' : strike === 'pause' ? 'SIGSTOP' : END[actor])
    )
      continue;
    bag = bag.filter((other) => other !== strike);
    strikes[strike][actor] = (strikes[strike][actor] ?? 0) + 1;
    if (strike !== 'pause') continue;
    const over = wait(Math.min(length, Math.max(0, until - Date.now()))).then(() => {
      send(pid, 'SIGCONT');
      pauses.delete(actor);
    });
    pauses.set(actor, over);
  }
  await Promise.all(pauses.values());
  return strikes;
}

function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

export function strikesText(strikes: Strikes): string {
  return STRIKES.map((strike) => {
    const each = Object.entries(strikes[strike]);
    const sum = each.reduce((total, [, count]) => total + count, 0);
    return `${sum} × ${strike} (${each.map(([actor, count]) => `${actor} ${count}`).join(', ') || 'none'})`;
  }).join(', ');
}
