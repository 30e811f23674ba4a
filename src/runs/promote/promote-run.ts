import { editTree } from '../../content/index.js';
import type { PromotedRun } from '../../contract/runs.js';
import type { Deps } from '../../deps.js';
import type { AddedCase, NewCase } from '../../format/index.js';
import { audit, findWorkspace, type RecordAnswer } from '../../people/index.js';
import type { Sql } from '../../platform/db/contract.js';
import { parseJson, toJson } from '../../shared/exact-json.js';
import { foldName, isName } from '../../shared/ids.js';
import type { Json } from '../../shared/json.js';
import { notFound, Refusal } from '../../shared/refusal.js';
import type { Caller } from '../../shared/roles.js';
import { deriveToken } from '../../shared/tokens.js';
import { collectCase, readRun } from './collect-case.js';

export interface PromoteInput {
  readonly workspace: string;
  readonly runId: string;
  /** Picks the file, `evals/<evalName>.md`; `<target>-regressions` when left out. */
  readonly evalName?: string | undefined;
  readonly caseName?: string | undefined;
  /** Assertion lines; without any the default judge grades the case. */
  readonly expect: readonly string[];
  readonly recordAnswer?: RecordAnswer | undefined;
}

/**
 * Saves a completed run as a case of an eval: its input, its decisions and events, and its tools' answers. The file is
 * written like every edit: checked, committed in the caller's name, and safe against concurrent edits.
 */
export async function promoteRun(deps: Deps, caller: Caller, input: PromoteInput): Promise<PromotedRun> {
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
  let answer: PromotedRun | undefined;
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
    inTransaction: async (sql, { issues }) => {
      if (answer) answer = { ...answer, issues: issues.filter(({ path }) => path === file) };
      await audit(sql, caller, 'run.promote', run.id, { file, case: answer?.caseName ?? null });
      if (answer) await input.recordAnswer?.(sql, answer);
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
  if (run.mode !== 'normal') throw new Refusal('conflict', 'the run belongs to an eval, so it is a case already');
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
  // Truncate the name, not its suffix.
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
  // A title of letters and digits only parses back unchanged, whatever the summary contains.
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
      : [`the run had another agent, ${agent}, at step ${from}; a case runs the flow in its current form`]),
  ];
}

/** An agent may have repeated its run's release address, which is a credential. */
function hideTokens(deps: Pick<Deps, 'keys'>, runs: readonly string[], wanted: NewCase): NewCase {
  const tokens = runs.map((id) => deriveToken(deps.keys.signing, 'event', [id]));
  const text = tokens.reduce((hidden, token) => hidden.replaceAll(token, '…'), toJson(wanted));
  return parseJson(text) as unknown as NewCase;
}

function refusalOf(file: string, added: Extract<AddedCase, { ok: false }>): Refusal {
  if (added.conflict) return new Refusal('conflict', `${file} is taken: ${added.reason}; choose another evalName`);
  return new Refusal('refused', added.reason.startsWith('expect') ? added.reason : `${file}: ${added.reason}`);
}
