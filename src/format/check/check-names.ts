import { foldName, isName } from '../../shared/ids.js';
import type { FileModel, ReadFile } from '../parse/read-file.js';
import type { Ref } from '../parse/reader.js';
import type { Report } from './report.js';

const NAMED = new Set(['agent', 'flow', 'eval', 'tool', 'skill']);

/** Compares the name of the path with the name in the file. */
export function checkNames(files: readonly ReadFile[], report: Report): void {
  for (const file of files) {
    const { kind, name } = file.place;
    if (!NAMED.has(kind)) continue;
    if (!isName(name)) {
      const message = `\`${name}\` is not a valid name: names are words of a–z and 0–9 with single hyphens, 64 characters at most.`;
      const folded = foldName(name);
      // The open format loads a skill of any name, so this is only a warning.
      const severity = kind === 'skill' ? ({ severity: 'warning' } as const) : {};
      const hint = folded ? { hint: `Call it \`${folded}\`.` } : {};
      report(file, 0, { code: `${kind}/bad-name`, message, ...severity, ...hint });
    }
    const declared = file.model && declaredName(file.model);
    if (declared && declared.name !== name) {
      const message = `The file calls itself \`${declared.name}\`, and its path says \`${name}\`.`;
      report(file, declared.offset, {
        code: `${kind}/bad-name`,
        message,
        hint: 'Make them the same, or leave `name:` out.',
      });
    }
  }
}

/** The name in the file. A skill's is checked by its reader, by the lenient rules of its format. */
function declaredName(model: FileModel): Ref | undefined {
  const named = model.kind === 'agent' || model.kind === 'flow' || model.kind === 'eval' || model.kind === 'tool';
  return named ? model.keys.values.name : undefined;
}
