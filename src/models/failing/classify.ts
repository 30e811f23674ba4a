import type { ModelErrorKind } from '../contract.js';
import type { ProviderWords } from './provider-words.js';

const OVERFLOW =
  /context[_ ]length|context[_ ]window|context[_ ]size|maximum context|prompt is too long|prompt_too_long|input token count|too many (input )?tokens|exceeds? the (maximum|available) (number of tokens|context)|input is too long|request_too_large/i;
const OVERLOADED = /overloaded|rate[_ ]?limit|resource_exhausted|too_many_requests|unavailable|slow_down/;
const REFUSED =
  /invalid_request|authentication|permission|not_found|invalid_argument|unauthenticated|billing|insufficient_quota/;
/** A 429 that waiting does not cure. */
const SPENT = /insufficient_quota|billing_hard_limit|billing_not_active/;

/** Classifies an error answer by its status. Anthropic sends 529 when overloaded. */
export function classifyStatus(status: number, words: ProviderWords): ModelErrorKind {
  if (status === 413 || ((status === 400 || status === 422) && isOverflow(words))) return 'overflow';
  if (status === 429) return SPENT.test(words.labels) ? 'refused' : 'overloaded';
  if (status === 503 || status === 529) return 'overloaded';
  if (status === 408 || status >= 500) return 'transient';
  return 'refused';
}

/** Classifies an error within a stream, which has no status but the provider's own label. */
export function classifyWords(words: ProviderWords): ModelErrorKind {
  if (words.status !== null) return classifyStatus(words.status, words);
  if (isOverflow(words)) return 'overflow';
  if (SPENT.test(words.labels)) return 'refused';
  if (OVERLOADED.test(words.labels)) return 'overloaded';
  return REFUSED.test(words.labels) ? 'refused' : 'transient';
}

/**
 * Faults of an account, a key or a model's name, though some providers report them as an invalid request (Anthropic:
 * 400, "credit balance is too low"; Google: 400, "API key not valid"; LiteLLM: 400, "Invalid model name"). Another
 * model may work.
 */
const OF_THIS_MODEL =
  /credit balance|billing|quota|api[_ -]?key|(invalid|unknown|unsupported) model|model.{0,80}(not (found|exist|available|supported)|does not exist|is not a valid)/i;
/** Labels within a stream that correspond to 400 and 422. */
const INVALID = /invalid_request|invalid_argument/;

/** True when the request itself was refused: another model would get the same request. */
export function isOurFault(status: number | null, words: ProviderWords): boolean {
  if (OF_THIS_MODEL.test(words.text) || OF_THIS_MODEL.test(words.labels)) return false;
  const httpStatus = status ?? words.status;
  return httpStatus === null ? INVALID.test(words.labels) : httpStatus === 400 || httpStatus === 422;
}

function isOverflow(words: ProviderWords): boolean {
  return OVERFLOW.test(words.labels) || OVERFLOW.test(words.text);
}
