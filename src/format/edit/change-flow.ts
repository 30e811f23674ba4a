import type { Json } from '../../shared/json.js';
import { mapFlow } from './flow-map.js';
import { insertStep } from './insert-step.js';
import { regroup } from './regroup.js';
import { removeStep } from './remove-step.js';
import { setAgent } from './set-agent.js';
import { setInstruction } from './set-instruction.js';
import { setKeys } from './set-keys.js';
import { setOptions } from './set-options.js';
import { setTrigger } from './set-trigger.js';
import { type Edited, refuse } from './splice.js';

/** The requested changes of a step. Missing fields stay unchanged. */
export interface StepWish {
  readonly instruction?: string | undefined;
  /** Null removes an option. */
  readonly options?: Readonly<Record<string, Json>> | undefined;
  /** The agent that does it; null for none. */
  readonly target?: string | null | undefined;
  /** The flow that does it; null for none. */
  readonly subflow?: string | null | undefined;
}

export type FlowChange =
  | ({ readonly kind: 'edit'; readonly step: number } & StepWish)
  | ({ readonly kind: 'insert'; readonly title?: string | undefined; readonly before?: number | undefined } & StepWish)
  | { readonly kind: 'remove'; readonly step: number }
  | { readonly kind: 'regroup'; readonly groups: readonly (readonly number[])[] }
  | {
      readonly kind: 'trigger';
      readonly trigger: string | readonly string[] | Readonly<Record<string, Json>>;
    }
  | { readonly kind: 'keys'; readonly keys: Readonly<Record<string, Json>> };

type Change<K extends FlowChange['kind']> = Extract<FlowChange, { kind: K }>;

const KINDS = {
  edit: editStepOf,
  insert,
  remove: (text, { step }) => removeStep(text, step),
  regroup: (text, { groups }) => regroup(text, groups),
  trigger: (text, { trigger }) => setTrigger(text, trigger),
  keys: (text, { keys }) => setKeys(text, keys),
} as const satisfies { readonly [K in FlowChange['kind']]: (text: string, change: Change<K>) => Edited };

/** Makes one change to a flow's text. All other bytes stay. */
export function changeFlow(text: string, change: FlowChange): Edited {
  return (KINDS[change.kind] as (text: string, change: FlowChange) => Edited)(text, change);
}

/** A step is done by an agent or a flow: setting one removes the other. */
function editStepOf(text: string, { step, instruction, options = {}, target, subflow }: Change<'edit'>): Edited {
  const isSubflow = typeof subflow === 'string';
  const agent = target === undefined && isSubflow ? null : target;
  const other = subflow === undefined && typeof target === 'string' ? null : subflow;
  const wanted = { ...(other === undefined ? {} : { subflow: other }), ...options };
  let edited: Edited = { ok: true, text };
  const next = (edit: (text: string) => Edited): void => {
    if (edited.ok) edited = edit(edited.text);
  };
  if (agent !== undefined) next((now) => setAgent(now, step, agent));
  if (Object.keys(wanted).length > 0) next((now) => setOptions(now, step, wanted));
  if (instruction !== undefined) next((now) => setInstruction(now, step, instruction));
  return edited;
}

function insert(text: string, { title, before, instruction, options = {}, target, subflow }: Change<'insert'>): Edited {
  if (typeof target === 'string' && typeof subflow === 'string')
    return refuse('A step has one doer: give `target` or `subflow`, not both.');
  const map = mapFlow(text.replace(/^\uFEFF/, ''));
  const taken = new Set(
    [...(map?.steps ?? []), ...(map?.groups ?? [])].map(({ heading }) => heading.title.toLowerCase()),
  );
  const named = title ?? freeTitle(instruction ?? target ?? subflow ?? 'Step', taken);
  const step = {
    title: named,
    ...(typeof target === 'string' ? { agent: target } : {}),
    options: { ...(typeof subflow === 'string' ? { subflow } : {}), ...options },
    ...(instruction === undefined ? {} : { instruction }),
  };
  return insertStep(text, step, before);
}

/** A title from the first words, without characters that have a meaning in headings. */
function freeTitle(from: string, taken: ReadonlySet<string>): string {
  const words = from
    .replace(/[^\p{L}\p{N} '-]+/gu, ' ')
    .trim()
    .split(/\s+/)
    .slice(0, 6)
    .join(' ')
    .slice(0, 60);
  const title = /\p{L}/u.test(words) ? words.charAt(0).toUpperCase() + words.slice(1) : `Step ${words}`.trim();
  for (let n = 1; ; n += 1) {
    const wish = n === 1 ? title : `${title} ${n}`;
    if (!taken.has(wish.toLowerCase())) return wish;
  }
}
