import { toJson } from '../../shared/exact-json.js';
import type { Json } from '../../shared/json.js';

interface Answer {
  readonly tool: string;
  readonly answer: Json;
}

/** Limits of one answer and of all answers of a case, in characters of JSON, and of the number of answers. */
const MAX_ANSWER = 16_000;
const MAX_ALL = 96_000;
const MAX_ANSWERS = 100;

export interface BoundAnswers {
  readonly canned: readonly Answer[];
  readonly warnings: readonly string[];
}

/**
 * Reduces tools' answers to what a case may hold. The last answer of a tool repeats, so equal ones at the end are left
 * out. Long answers are cut in the middle and surplus ones are dropped, each with a warning.
 */
export function boundAnswers(answers: readonly Answer[]): BoundAnswers {
  const canned: Answer[] = [];
  const warnings: string[] = [];
  let all = 0;
  let left = 0;
  for (const { tool, answer } of withoutRepeats(answers)) {
    const short = cut(answer);
    const size = toJson(short).length;
    if (canned.length >= MAX_ANSWERS || all + size > MAX_ALL) {
      left += 1;
      continue;
    }
    if (short !== answer) warnings.push(`an answer of ${tool} is cut in the middle: it was too long for a case`);
    all += size;
    canned.push({ tool, answer: short });
  }
  if (left > 0) warnings.push(`${left} further answers of tools are left out: they are too many for a case`);
  return { canned, warnings };
}

function withoutRepeats(answers: readonly Answer[]): readonly Answer[] {
  const kept: Answer[] = [];
  const next = new Map<string, string>();
  const isTail = new Set<string>();
  for (const one of [...answers].reverse()) {
    const text = toJson(one.answer);
    const after = next.get(one.tool);
    next.set(one.tool, text);
    if (after === undefined) isTail.add(one.tool);
    else if (isTail.has(one.tool) && after === text) {
      kept[kept.findIndex(({ tool }) => tool === one.tool)] = one;
      continue;
    } else isTail.delete(one.tool);
    kept.push(one);
  }
  return kept.reverse();
}

function cut(answer: Json): Json {
  const text = typeof answer === 'string' ? answer : toJson(answer);
  if (text.length <= MAX_ANSWER) return answer;
  const half = MAX_ANSWER / 2;
  const whole = (part: string) => part.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '');
  return `${whole(text.slice(0, half))}\n[… ${text.length - MAX_ANSWER} characters left out …]\n${whole(text.slice(-half))}`;
}
