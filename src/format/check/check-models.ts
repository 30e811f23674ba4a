import { didYouMean } from '../../shared/closest.js';
import type { CheckContext } from '../model.js';
import { stepsOf } from '../parse/flow-model.js';
import type { ReadFile } from '../parse/read-file.js';
import type { Ref } from '../parse/reader.js';
import type { Catalog } from '../resolve/catalog.js';
import type { Report } from './report.js';

/** `ref/model`: reports models that neither the workspace nor the operator configures. */
export function checkModels(catalog: Catalog, models: CheckContext['models'], report: Report): void {
  if (models === null || models.any || catalog.defaults?.model.keys.misspelt('models')) return;
  const own = catalog.defaults?.model.keys.values.models ?? {};
  const aliases = [...Object.keys(own), ...models.aliases];
  const resolves = (name: string) => {
    const provider = /^([^/]+)\/./.exec(name)?.[1];
    return provider === undefined ? false : models.providers.includes(provider);
  };
  const check = (file: ReadFile, { name, offset }: Ref, known: readonly string[]) => {
    if (known.includes(name) || resolves(name)) return;
    const message = `The model \`${name}\` is neither an alias of this workspace or of the service nor a \`provider/model\` that it has a key for.`;
    report(file, offset, { code: 'ref/model', severity: 'warning', message, hint: () => didYouMean(name, known) });
  };
  if (catalog.defaults) {
    // An alias must name a model or an operator's alias: an alias of its own workspace would not resolve.
    const offset = catalog.defaults.model.keys.at('models');
    for (const name of new Set(Object.values(own).flat())) check(catalog.defaults, { name, offset }, models.aliases);
  }
  for (const file of catalog.read) {
    const { model } = file;
    if (model?.kind === 'agent' && model.keys.values.model && model.keys.values.model.name !== 'inherit') {
      check(file, model.keys.values.model, aliases);
    }
    if (model?.kind === 'eval' && model.keys.values.judge) check(file, model.keys.values.judge, aliases);
    if (model?.kind !== 'flow') continue;
    for (const { options } of stepsOf(model.nodes))
      if (options.values.model) check(file, options.values.model, aliases);
  }
}
