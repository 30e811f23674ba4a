import { type Assertion, type AssertionType, evaluateCel } from '../../format/index.js';
import { compilePattern } from '../../format/values/pattern.js';
import { toJson } from '../../shared/exact-json.js';
import type { Json } from '../../shared/json.js';
import type { CaseEvidence, Finding, Subject } from './evidence.js';

export type TestedType = Exclude<AssertionType, 'judge'>;
type Test = (assertion: Assertion, subject: Subject, evidence: CaseEvidence) => Finding;

/** Limit of pattern length times text length: more would block the process. */
const MAX_MATCHING = 50_000_000;
const SHOWN = 160;

/** The tests of all assertion types except the judge's. */
export const TESTS = {
  contains: onText((text, value) => text.includes(value)),
  icontains: onText((text, value) => text.toLowerCase().includes(value.toLowerCase())),
  equals: onText((text, value) => text.trim() === value.trim()),
  'starts-with': onText((text, value) => text.trimStart().startsWith(value)),
  regex: testRegex,
  'is-json': onText(isJson),
  cel: testCel,
  cost: ({ bound }, { name, costUsd }) => {
    if (costUsd === null) return undetermined(`${name} used a model whose price is not known`);
    return { holds: costUsd <= (bound ?? 0), evidence: `${name} cost $${costUsd}` };
  },
  latency: ({ bound }, { name, latencyMs }) => {
    if (latencyMs === null) return undetermined(`${name} never began`);
    return { holds: latencyMs <= (bound ?? 0), evidence: `${name} took ${latencyMs / 1_000} s` };
  },
  'tool-called': testTool,
  status: ({ value }, { name, status }) => ({ holds: status === value, evidence: `${name} is ${status}` }),
  'parked-at': testParked,
} as const satisfies Record<TestedType, Test>;

function onText(holds: (text: string, value: string) => boolean): Test {
  return ({ value }, { name, text }) => {
    if (text === null) return undetermined(`${name} has no result`);
    return { holds: holds(text, value), evidence: `${name} says: ${shown(text)}` };
  };
}

function testRegex(assertion: Assertion, subject: Subject, evidence: CaseEvidence): Finding {
  const pattern = compilePattern(assertion.value);
  if (pattern.size * (subject.text ?? '').length > MAX_MATCHING)
    return undetermined(`the pattern is too big for a text of ${subject.text?.length} characters`);
  return onText((text) => pattern.test(text))(assertion, subject, evidence);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function testCel({ value, step }: Assertion, subject: Subject, { roots }: CaseEvidence): Finding {
  const scope = step === undefined ? roots : { ...roots, ...fieldsOf(subject) };
  const answer = evaluateCel(value, scope);
  if (!answer.ok) return undetermined(answer.message);
  if (typeof answer.value !== 'boolean') return undetermined(`it is ${shown(toJson(answer.value))}, not true or false`);
  return { holds: answer.value, evidence: `it is ${answer.value} of ${shown(toJson(fieldsOf(subject)))}` };
}

/** The fields that `cel` sees inside `step(id):`. A missing part is left out, so that `has()` works. */
function fieldsOf({ text, data, event, decision, status, costUsd, latencyMs }: Subject): Record<string, Json> {
  const given: Record<string, Json | undefined> = {
    status,
    result: text ?? undefined,
    data,
    event,
    decision,
    cost: costUsd ?? undefined,
    latency: latencyMs ?? undefined,
  };
  return Object.fromEntries(Object.entries(given).filter((one): one is [string, Json] => one[1] !== undefined));
}

function testTool({ value }: Assertion, { name, tools }: Subject): Finding {
  const holds = tools.some((tool) => tool === value || tool.startsWith(`${value}.`));
  const called = [...new Set(tools)].join(', ');
  return { holds, evidence: called === '' ? `${name} called no tool` : `${name} called ${called}` };
}

function testParked({ value }: Assertion, _subject: Subject, { parked, run }: CaseEvidence): Finding {
  const where = parked.map(({ step }) => step);
  const evidence = where.length === 0 ? `it was not parked: the run is ${run.status}` : `parked at ${where.join(', ')}`;
  return { holds: where.includes(value), evidence };
}

function undetermined(evidence: string): Finding {
  return { holds: null, evidence };
}

function shown(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= SHOWN ? line : `${line.slice(0, SHOWN)}…`;
}
