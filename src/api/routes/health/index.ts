import type { Route } from '../../define-route.js';
import { getHealth } from './get-health.js';

export const healthRoutes: readonly Route[] = [getHealth];
