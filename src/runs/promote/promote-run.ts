import { audit, type Once } from '../../accounts/index.js';
import type { Sql } from '../../db/contract.js';
import { editTree } from '../../deploys/index.js';
import type { Deps } from '../../deps.js';
import { parseJson, toJson } from '../../shared/exact-json.js';
import { foldName, isName } from '../../shared/ids.js';
import type { Json } from '../../shared/json.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { deriveToken } from '../../shared/tokens.js';
import type { AddedCase, Issue, NewCase } from '../../workspace/index.js';
import { findWorkspace } from '../../workspaces/index.js';
import { collectCase, readRun } from './collect-case.js';

export interface PromoteInput {
  readonly workspace: string;
  readonly runId: string;
  /** Picks the file, `evals/<evalName>.md`; `<target>-regressions` when left out. */
  readonly evalName?: string | undefined;
  readonly caseName?: string | undefined;
  /** Assertion lines; without one the default judge grades the case. */
  readonly expect: readonly string[];
  readonly once?: Once | undefined;
}

export interface Promoted {
  readonly ok: true;
  readonly file: string;
  /** False when the case was appended to a file. */
  readonly created: boolean;
  readonly caseName: string;
  /** What starts the eval of that file: a new one is run by hand. */
  readonly trigger: 'manual' | 'own';
  readonly warnings: readonly string[];
  /** What a deploy of the file says of it. */
  readonly issues: readonly Issue[];
}

/**
 * Saves a completed run as a case of an eval: its input, what was decided in it and which events came, and what its
 * tools answered. The file is written as every edit is: checked, a commit of the caller's, and two at once both count.
 */
export async function promoteRun(deps: Deps, caller: Caller, input: PromoteInput): Promise<Promoted> {
  const workspace = await findWorkspace(deps.db, caller, input.workspace);
  const run = await readCompleted(deps.db, workspace.id, input.runId);
  const target = run.flow.startsWith('agents/') ? run.flow : `flows/${run.flow}`;
  const file = `evals/${evalNameOf(target, input.evalName)}.md`;
  const collected = await readCase(deps, workspace.id, run.id);
  const wanted: NewCase = hideTokens(deps, collected.runs, {
    target,
    title: titleOf(input.caseName, run),
    input: run.input,
    decisions: collected.decisions,
    canned: collected.canned,
    expect: input.expect,
  });
  const warnings = [...warningsOf(run), ...collected.warnings];
  let answer: Promoted | undefined;
  await editTree(deps, caller, {
    workspace: input.workspace,
    message: `Save a run of ${run.flow} as a case`,
    edit: async ({ read }) => {
      const text = await read(file);
      const added = await deps.checker.work('add-case', { text, wanted });
      if (!added.ok) throw refusalOf(file, added);
      const created = text === null;
      answer = {
        ok: true,
        file,
        created,
        caseName: added.title,
        trigger: created ? 'manual' : 'own',
        warnings,
        issues: [],
      };
      return { remove: [], put: new Map([[file, new TextEncoder().encode(added.text)]]) };
    },
    also: async (sql, { issues }) => {
      if (answer) answer = { ...answer, issues: issues.filter(({ path }) => path === file) };
      await audit(sql, caller, 'run.promote', run.id, { file, case: answer?.caseName ?? null });
      if (answer) await input.once?.(sql, answer);
    },
  });
  if (!answer) throw new Error(`no case was written for run ${run.id}`);
  return answer;
}

interface CompletedRun {
  readonly id: string;
  readonly flow: string;
  readonly status: string;
  readonly mode: string;
  readonly input: Json;
  readonly summary: string | null;
  readonly from: number;
  readonly rerunOf: string | null;
  readonly agent: string | null;
}

async function readCompleted(sql: Sql, workspaceId: string, runId: string): Promise<CompletedRun> {
  const [run] = await sql.query<CompletedRun>({
    name: 'run-to-promote',
    text: `SELECT id, flow, status, mode, input, summary, from_step AS "from", rerun_of AS "rerunOf", rerun->>'agent' AS agent
      FROM run WHERE id = $1 AND workspace_id = $2`,
    values: [runId, workspaceId],
  });
  if (!run) throw notFound('run');
  if (run.mode !== 'normal') throw new Refusal('conflict', 'a run of an eval is a case already');
  if (run.status !== 'completed') {
    throw new Refusal('conflict', `the run is ${run.status}: only a completed run can be saved as a case`, {
      status: run.status,
    });
  }
  return run;
}

async function readCase(deps: Deps, workspaceId: string, runId: string) {
  const run = await readRun(deps.db, runId, workspaceId);
  if (!run) throw notFound('run');
  return collectCase(deps.db, run);
}

function evalNameOf(target: string, wish: string | undefined): string {
  // What is longer than a name may be gives way to the ending.
  const name =
    wish ??
    `${target
      .slice(target.indexOf('/') + 1)
      .slice(0, 52)
      .replace(/-+$/, '')}-regressions`;
  if (isName(name)) return name;
  const folded = foldName(name);
  throw new Refusal(
    'refused',
    `evalName: a name is lower-case words and digits joined by single hyphens, 64 characters at most${folded === '' ? '' : `, such as ${folded}`}`,
  );
}

function titleOf(wish: string | undefined, { id, summary }: CompletedRun): string {
  if (wish !== undefined) return wish.trim().replace(/\s+/g, ' ');
  // Whatever the summary says, a title of letters and figures reads back as it is written.
  const words = (summary ?? '')
    .replace(/[^\p{L}\p{N}.,;:!? '-]+/gu, ' ')
    .trim()
    .replace(/\s+/g, ' ')
    .slice(0, 80)
    .trim();
  const tail = id.slice(-6);
  return /\p{L}/u.test(words) ? `${words} (run ${tail})` : `Run ${tail}`;
}

function warningsOf({ from, rerunOf, agent }: CompletedRun): string[] {
  return [
    ...(rerunOf === null && from > 1 ? [`the run began at step ${from}; a case runs every step`] : []),
    ...(agent === null
      ? []
      : [`the run had another agent, ${agent}, at step ${from}; a case runs the flow as it stands`]),
  ];
}

/** An agent that was given its run's release address may have passed it on: the address is a credential. */
function hideTokens(deps: Pick<Deps, 'keys'>, runs: readonly string[], wanted: NewCase): NewCase {
  const tokens = runs.map((id) => deriveToken(deps.keys.signing, 'event', [id]));
  const text = tokens.reduce((hidden, token) => hidden.replaceAll(token, '…'), toJson(wanted));
  return parseJson(text) as unknown as NewCase;
}

function refusalOf(file: string, added: Extract<AddedCase, { ok: false }>): Refusal {
  if (added.conflict) return new Refusal('conflict', `${file} is taken: ${added.reason}; choose another evalName`);
  return new Refusal('refused', added.reason.startsWith('expect') ? added.reason : `${file}: ${added.reason}`);
}
