import {
  type CelFunc,
  CelScalar,
  type CelValue,
  celEnv,
  celFunc,
  celList,
  celMethod,
  isCelError,
  isCelList,
  isCelMap,
  listType,
} from '@bufbuild/cel';
import { compilePattern } from '../values/pattern.js';
import { chargeDeep } from './convert.js';
import { charge } from './meter.js';
import { pathFunctions } from './paths.js';

const { BOOL, DOUBLE, DYN, INT, STRING } = CelScalar;
const LIST = listType(DYN);

/** The arrays behind the lists that `map` and `filter` build. */
const collecting = new WeakMap<object, CelValue[]>();

const loopFunctions = [
  celFunc('@tick', [DYN], DYN, (condition) => {
    charge(1);
    return condition;
  }),
  celFunc('@list', [], LIST, () => {
    const array: CelValue[] = [];
    const list = celList(array);
    collecting.set(list, array);
    return list;
  }),
  celFunc('@append', [LIST, DYN], LIST, (list, value) => {
    charge(1);
    collecting.get(list)?.push(value);
    return list;
  }),
];

/** JSON has no ints, so `input.amount + 1` mixes a double and an int. `%` is also needed for doubles. */
const mixedArithmetic = (
  [
    ['_+_', (l, r) => l + r],
    ['_-_', (l, r) => l - r],
    ['_*_', (l, r) => l * r],
    ['_/_', (l, r) => l / r],
    ['_%_', (l, r) => l % r],
  ] satisfies [string, (l: number, r: number) => number][]
).flatMap(([name, op]) => [
  celFunc(name, [INT, DOUBLE], DOUBLE, (l, r) => op(toDouble(l), r)),
  celFunc(name, [DOUBLE, INT], DOUBLE, (l, r) => op(l, toDouble(r))),
  ...(name === '_%_' ? [celFunc(name, [DOUBLE, DOUBLE], DOUBLE, op)] : []),
]);

function toDouble(value: bigint): number {
  if (Number.isSafeInteger(Number(value))) return Number(value);
  throw new Error(`${value} is too large to compute with exactly here: string(…) makes a text of it`);
}

/** Compares an int and a double by value: the library would round the int first. */
const mixedOrder = (
  [
    ['_<_', (l, r) => l < r],
    ['_<=_', (l, r) => l <= r],
    ['_>_', (l, r) => l > r],
    ['_>=_', (l, r) => l >= r],
  ] satisfies [string, (l: number | bigint, r: number | bigint) => boolean][]
).flatMap(([name, op]) => [celFunc(name, [INT, DOUBLE], BOOL, op), celFunc(name, [DOUBLE, INT], BOOL, op)]);

const bounded = [
  celFunc('_+_', [LIST, LIST], LIST, (left, right) => {
    charge(left.size + right.size);
    return celList([...left, ...right]);
  }),
  celMethod('matches', STRING, [STRING], BOOL, function (pattern) {
    return matches(String(this), pattern);
  }),
  celFunc('matches', [STRING, STRING], BOOL, (subject, pattern) => matches(subject, pattern)),
];

/** Patterns are RE2, which does not backtrack. So the cost is the pattern's size times the subject's length. */
function matches(subject: string, source: string): boolean {
  const pattern = compilePattern(source);
  charge(1 + pattern.size / 10 + (pattern.size * subject.length) / 100);
  return pattern.test(subject);
}

const DEEP = new Set(['_==_', '_!=_', '@in']);

/** Wraps a standard function so that it is charged by the size of its arguments. */
function metered(func: CelFunc): CelFunc {
  const spend = DEEP.has(func.name) ? chargeDeep : func.name === 'size' ? chargeCounting : chargeShallow;
  const calendar = func.name.startsWith('get') ? 200 : 0;
  const call = (target: CelValue | undefined, args: CelValue[]) => {
    charge(1 + calendar);
    for (const value of target === undefined ? args : [target, ...args]) spend(value);
    const result = func.call(0, target, args);
    if (result === undefined) throw new Error(`${func.name} does not take these values`);
    if (isCelError(result)) throw result;
    return result;
  };
  if (func.target === undefined)
    return celFunc(func.name, func.arguments, func.result, (...args) => call(undefined, args));
  return celMethod(func.name, func.target, func.arguments, func.result, function (...args) {
    return call(this as CelValue, args);
  });
}

/** `size` counts the code points of a string one by one. */
function chargeCounting(value: CelValue): void {
  charge(typeof value === 'string' ? value.length / 8 : 1);
}

function chargeShallow(value: CelValue): void {
  if (typeof value === 'string') charge(value.length / 64);
  else if (isCelList(value) || isCelMap(value)) charge(1);
  else if (value instanceof Uint8Array) charge(value.length / 64);
}

const standard = [...celEnv().funcs].map(metered);

/** Later entries replace earlier ones of the same signature. */
export const environment = celEnv({
  funcs: [...standard, ...mixedArithmetic, ...mixedOrder, ...bounded, ...loopFunctions, ...pathFunctions],
});

const BUILT_IN = new Set(['_&&_', '_||_', '_?_:_', '@not_strictly_false', '@append', '@list', '@tick']);

export function isFunction(name: string): boolean {
  return BUILT_IN.has(name) || environment.funcs.find(name) !== undefined;
}
