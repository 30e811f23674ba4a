export { checkCel, evaluateCel } from './cel/index.js';
export { checkTree } from './check-tree.js';
export type { Checker } from './checker.js';
export { didYouMean } from './did-you-mean.js';
export * from './model.js';
export { type FileKind, isProtectedPath, kindOfPath } from './parse/place.js';
export { validate } from './schema/index.js';
export { fillWith, renderPath } from './text/index.js';
