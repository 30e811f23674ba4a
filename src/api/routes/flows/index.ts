import type { Route } from '../../define-route.js';
import { patchFlow, postFlow, removeFlow } from './change-flow.js';
import { getFlow, getFlows, postFlows } from './read-flows.js';

export const flowRoutes: readonly Route[] = [getFlows, postFlows, getFlow, postFlow, patchFlow, removeFlow];
