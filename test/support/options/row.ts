import type { RunView } from '../../../src/contract/runs.js';
import type { Failpoint } from '../../../src/shared/failpoint.js';
import type { FakeAnswer, FakeCall } from '../fake-provider.js';
import type { Tree } from '../workspace-app.js';

/** Whose option it is: each is a family of rows, and a section of docs/format/step-options.md. */
export type Family = 'step' | 'gate' | 'group' | 'flow' | 'agent';

/** A row of the table: one option, what it takes, what a deploy refuses, and runs that show it at work. */
export interface OptionRow {
  readonly of: Family;
  readonly key: string;
  /** What one may write, for people. */
  readonly values: string;
  readonly byDefault: string;
  /** What the vocabulary's line leaves open. */
  readonly more?: string;
  readonly refused: readonly Refused[];
  /** Each is run in peace, and with its worker killed while it stands in the option. The first is the docs' example. */
  readonly cases: Readonly<Record<string, OptionCase>>;
}

/** A value that a deploy refuses with this code, at the line of the option. */
export interface Refused {
  /** `key: value` as written. */
  readonly write: string;
  readonly code: string;
  /** Part of the message or of the hint. */
  readonly says: string;
  /** Options of the same step that stand before it, and who does the step (`@worker` when left out, '' is nobody). */
  readonly beside?: readonly string[];
  readonly doer?: string;
  /** A schema block, or other text, under the options. */
  readonly below?: string;
}

/** Where a model call comes from, as its idempotency key says. */
export interface At {
  readonly run: string;
  readonly step: string;
  readonly item: number;
  readonly round: number;
  readonly attempt: number;
  /** From 0. */
  readonly turn: number;
}

export interface Wait {
  readonly id: string;
  readonly kind: string;
  readonly round: number;
}

/** What somebody does about a wait; told that they may not (yet), they try again. */
export interface Act {
  readonly as?: 'owner' | 'editor' | 'admin';
  readonly decide?: object;
  readonly event?: object;
  /** The answer that it must get; 200 when left out, which is tried for until it comes. */
  readonly status?: number;
  /** It is done once the run is so. */
  readonly once?: (run: RunView) => boolean;
}

export interface OptionCase {
  /** The flow's text below its frontmatter, and further lines of that. */
  readonly flow: string;
  readonly keys?: string;
  /** Further frontmatter of agents/worker.md. */
  readonly agent?: string;
  readonly files?: Tree;
  readonly start?: object;
  /** A start that is refused, before the run of the case; without `shows` there is no other. */
  readonly refuses?: { readonly body: object; readonly status: number; readonly says: string };
  /** What the model answers; `<step> is done` where it says nothing. */
  readonly model?: (at: At) => FakeAnswer | undefined;
  /** What people and programs do about a wait, once each; by default they approve, and send `{ "ok": true }`. */
  readonly people?: (wait: Wait) => readonly Act[];
  /** Where the run stands when its worker is killed: in this model call, or waiting. */
  readonly killedIn: Partial<Omit<At, 'run'>> | 'wait';
  /** Its time is short: its run is started when all others stand where they are to be killed. */
  readonly isShort?: true;
  /**
   * Further, a write after which its worker is killed. Not for a slow model: workers die one after the other there, and
   * a call that three of them left open is given up.
   */
  readonly killedAfter?: Failpoint;
  /** A second start, right after the first: how it is answered, and what its run shows when there is one. */
  readonly second?: { readonly status: number; readonly shows?: object };
  /** What GET run shows in the end. */
  readonly shows?: object;
  /** What else holds: of the run, and of the calls that reached the provider for it. */
  readonly holds?: (run: RunView, calls: readonly FakeCall[]) => void;
}

export interface NamedCase {
  readonly name: string;
  readonly row: OptionRow;
  readonly option: OptionCase;
}
