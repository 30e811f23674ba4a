import { newId } from '../../shared/ids.js';
import type { ToolContext, ToolOutcome } from '../contract.js';
import { writeLaneFile } from '../lane/lane-files.js';
import { extensionOf } from '../lane/media-type.js';
import type { McpDeps } from './contract.js';
import { type ResultPart, readResult } from './read-result.js';

/** What the model reads of a result: its texts, and the paths of saved files. */
export async function keepResult(
  deps: Pick<McpDeps, 'sandbox'>,
  result: Readonly<Record<string, unknown>>,
  { context, name }: { readonly context: ToolContext; readonly name: string },
): Promise<ToolOutcome> {
  const parts = readResult(result);
  const lines: string[] = [];
  for (const part of parts) lines.push(part.kind === 'text' ? part.text : await keepFile(deps, context, name, part));
  const text = lines.join('\n');
  const left = parts.some(({ kind }) => kind === 'file');
  return { text: text === '' ? '(no output)' : text, isError: result.isError === true, ...(left && { left }) };
}

async function keepFile(
  { sandbox }: Pick<McpDeps, 'sandbox'>,
  { folder, secrets }: ToolContext,
  name: string,
  { what, mediaType, base64 }: Extract<ResultPart, { kind: 'file' }>,
): Promise<string> {
  const content = secrets.hide().bytes(Buffer.from(base64, 'base64'));
  const path = `files/${name.replace(/[^\w-]+/g, '_').slice(0, 64)}-${newId()}${extensionOf(mediaType)}`;
  const kept = await writeLaneFile({ work: folder.work, path, content, uid: sandbox.uid }).then(
    () => true,
    // A program may have replaced the folder.
    () => false,
  );
  const size = `${what}, ${content.length} bytes`;
  return kept ? `[${size}: ${path}]` : `[${size}: it could not be saved, since files/ is not a folder any more]`;
}
