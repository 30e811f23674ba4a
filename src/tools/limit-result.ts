import type { Deps } from '../deps.js';
import { newId } from '../shared/ids.js';
import type { ToolContext, ToolOutcome } from './contract.js';
import { writeLaneFile } from './lane/lane-files.js';

/** The maximum that a model reads of one result, in UTF-16 code units. */
export const MAX_RESULT = 30_000;

/** A result that is longer is cut in the middle and saved whole in the lane, where Read and programs find it. */
export async function limitResult(
  deps: Pick<Deps, 'sandbox'>,
  { folder }: Pick<ToolContext, 'folder'>,
  { tool, outcome }: { readonly tool: string; readonly outcome: ToolOutcome },
): Promise<ToolOutcome> {
  if (outcome.text.length <= MAX_RESULT) return outcome;
  const name = `${tool}-${newId()}.txt`;
  const content = Buffer.from(outcome.text, 'utf8');
  const saved = await writeLaneFile({ work: folder.work, path: `.saved/${name}`, content, uid: deps.sandbox.uid }).then(
    () => `it is whole in saved/${name}: Read it with offset and limit`,
    // A program may have replaced the folder.
    () => 'it could not be saved: ask for less at once',
  );
  return {
    ...outcome,
    truncated: true,
    text: cutMiddle(
      outcome.text,
      `\n\n[… the middle of ${outcome.text.length} characters is left out; ${saved} …]\n\n`,
    ),
  };
}

function cutMiddle(text: string, mark: string): string {
  const half = Math.floor((MAX_RESULT - mark.length) / 2);
  return wholeCharacters(text.slice(0, half)) + mark + wholeCharacters(text.slice(-half));
}

/** Removes half a surrogate pair that a cut left at either end. */
function wholeCharacters(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '');
}
