import type { Expr } from './lower.js';

const OTHERS: ReadonlySet<string> = new Set([
  ...['_+_', '_-_', '_*_', '_/_', '_%_', '-_'],
  ...['size', 'int', 'uint', 'double', 'string', 'bytes', 'timestamp', 'duration'],
]);

/** False when an expression, as it was parsed, gives something else than true or false whatever the data are. */
export function mayBeBoolean({ exprKind: kind }: Expr): boolean {
  if (kind.case === 'constExpr') return kind.value.constantKind.case === 'boolValue';
  if (kind.case === 'listExpr' || kind.case === 'structExpr') return false;
  // What collects begins with a list and gives it: `map` and `filter`.
  if (kind.case === 'comprehensionExpr') return kind.value.accuInit?.exprKind.case !== 'listExpr';
  if (kind.case !== 'callExpr') return true;
  const { function: name, args } = kind.value;
  return name === '_?_:_' ? args.slice(1).some(mayBeBoolean) : !OTHERS.has(name);
}
