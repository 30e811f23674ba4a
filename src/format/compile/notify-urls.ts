import type { UrlPlace } from '../model.js';
import type { ReadFile } from '../parse/read-file.js';
import { positionAt } from '../parse/source.js';

/** The `notify.url` of the workspace or the account and of each flow, with its place. */
export function notifyUrls(read: readonly ReadFile[]): UrlPlace[] {
  return read.flatMap(({ model, source }) => {
    if (model?.kind !== 'workspace' && model?.kind !== 'flow') return [];
    const { url } = model.keys.values.notify ?? {};
    if (typeof url !== 'string') return [];
    const place = positionAt(source, model.keys.at('notify'));
    return [{ path: source.path, ...place, code: `${model.kind}/bad-value`, url }];
  });
}
