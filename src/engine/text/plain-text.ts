import { renderPath, type Text } from '../../format/index.js';
import { toJson } from '../../shared/exact-json.js';
import type { Json } from '../../shared/json.js';

/** Text for people (gates, pages): values are inserted unquoted, a link shows its label or its path. */
export function plainText(text: Text, scope: Readonly<Record<string, Json>>): string {
  return text
    .map((piece) => {
      if (piece.kind === 'text') return piece.text;
      if (piece.kind === 'link') return piece.label ?? piece.target;
      return shown(renderPath(piece.path, scope));
    })
    .join('')
    .trim();
}

/** A value as text: strings unquoted, empty for a missing value, others as JSON. */
export function shown(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : toJson(value);
}
