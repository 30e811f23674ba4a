import type { Route } from '../../define-route.js';
import { readHistory } from './read-history.js';

export const historyRoutes: readonly Route[] = [readHistory];
