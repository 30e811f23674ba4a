import { redactor } from '../../src/shared/redact.js';
import type { ToolContext } from '../../src/tools/index.js';

/** A step's secrets that are values, by name: programs get each as a variable, and none is told. */
export function givenSecrets(values: Readonly<Record<string, string>>): ToolContext['secrets'] {
  const hide = redactor(Object.entries(values));
  return {
    hide: () => hide,
    value: async (name) => values[name] ?? null,
    forPrograms: async () => ({ env: values, files: [], readOnly: [] }),
  };
}
