import type { Route } from '../../define-route.js';
import { moveSource } from './move-source.js';
import { readSource } from './read-source.js';
import { removeSource } from './remove-source.js';
import { writeSource } from './write-source.js';

export const sourceRoutes: readonly Route[] = [readSource, writeSource, moveSource, removeSource];
