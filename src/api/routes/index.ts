import type { Route } from '../define-route.js';
import { accountRoutes } from './account/index.js';
import { docsRoutes } from './docs/index.js';
import { eventRoutes } from './events/index.js';
import { healthRoutes } from './health/index.js';
import { runRoutes } from './runs/index.js';

/** The route table: what the app serves, the documentation lists and the access tests walk. */
export const routes: readonly Route[] = [...healthRoutes, ...accountRoutes, ...docsRoutes, ...runRoutes, ...eventRoutes];
