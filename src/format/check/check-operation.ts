import { didYouMean } from '../../shared/closest.js';
import type { ReadFile } from '../parse/read-file.js';
import type { Ref } from '../parse/reader.js';
import type { Catalog } from '../resolve/catalog.js';
import type { Report } from './report.js';
import { toolOf } from './tool-names.js';
import { operationFault } from './tool-operations.js';

/** `ref/tool`: reports a `tool.operation` that the tool's document, if it is a file, does not have. */
export function checkOperation(
  { catalog, agent }: { readonly catalog: Catalog; readonly agent: string },
  { file, ref }: { readonly file: ReadFile; readonly ref: Ref },
  report: Report,
): void {
  const fault = operationFault(catalog, agent, ref.name);
  if (fault === null) return;
  const tool = toolOf(ref.name);
  const hint = () => didYouMean(ref.name.slice(tool.length + 1), fault.names);
  report(file, ref.offset, { code: 'ref/tool', message: `The tool \`${tool}\`: ${fault.message}.`, hint });
}
