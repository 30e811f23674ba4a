import { z } from 'zod';
import type { Finding } from './evidence.js';

const Answer = z.strictObject({
  verdicts: z.array(z.strictObject({ n: z.int(), holds: z.boolean(), evidence: z.string().trim().min(1).max(4_000) })),
});

/** The judge's answer is invalid: the case is an error, and none of its statements passes. */
export class BadVerdict extends Error {
  override readonly name = 'BadVerdict';
}

/**
 * Parses the verdicts of an answer: one for each of `count` statements, in their order. Removes one fence around the
 * JSON. Throws BadVerdict for anything else that differs from the requested form.
 */
export function readVerdicts(text: string, count: number): Finding[] {
  const answer = Answer.safeParse(parse(withoutFence(text)));
  if (!answer.success) throw new BadVerdict(`the judge’s answer is not what was asked for: ${shown(text)}`);
  const { verdicts } = answer.data;
  const byNumber = new Map(verdicts.map((verdict) => [verdict.n, verdict]));
  if (verdicts.length !== count || byNumber.size !== count)
    throw new BadVerdict(`the judge gave ${verdicts.length} verdicts for ${count} statements`);
  return Array.from({ length: count }, (_, index) => {
    const verdict = byNumber.get(index + 1);
    if (!verdict) throw new BadVerdict(`the judge gave no verdict on statement ${index + 1}`);
    return { holds: verdict.holds, evidence: verdict.evidence };
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function withoutFence(text: string): string {
  return (/^```[a-z]*\n([\s\S]*?)\n?```$/.exec(text.trim())?.[1] ?? text).trim();
}

function shown(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line === '' ? 'it is empty' : line.slice(0, 200);
}
