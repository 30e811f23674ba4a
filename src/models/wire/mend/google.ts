import { toJson } from '../../../shared/exact-json.js';
import { isRecord } from '../../../shared/json.js';
import { listOf, recordOf, usageOf } from './fields.js';
import type { Mender } from './mender.js';

/** A chunk of Gemini's streamGenerateContent. */
export const mendGoogle: Mender = (chunk) => {
  const { candidates, usageMetadata, promptFeedback, error } = chunk;
  if (error !== undefined && error !== null) return [chunk];
  if (candidates === undefined && usageMetadata === undefined && promptFeedback === undefined) return [];
  return [
    {
      ...chunk,
      candidates: listOf(candidates).filter(isRecord).map(mendCandidate),
      usageMetadata: usageOf(usageMetadata),
    },
  ];
};

function mendCandidate(candidate: Record<string, unknown>): object {
  const content = recordOf(candidate.content);
  const parts = listOf(content.parts).flatMap((part) => {
    if (typeof part === 'string') return [{ text: part }];
    return isRecord(part) ? [mendPart(part)] : [];
  });
  return { ...candidate, content: { ...content, parts } };
}

/** Arguments as text: the SDK would serialize an object again and round its large integers. */
function mendPart(part: Record<string, unknown>): object {
  const { functionCall: call } = part;
  return isRecord(call) && isRecord(call.args) ? { ...part, functionCall: { ...call, args: toJson(call.args) } } : part;
}
