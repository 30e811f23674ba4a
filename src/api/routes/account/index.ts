import type { Route } from '../../define-route.js';
import { getMe } from './get-me.js';

export const accountRoutes: readonly Route[] = [getMe];
