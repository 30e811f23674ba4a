import type { Route } from '../../define-route.js';
import { getAgents, getVocabulary, postAgents, postAssets } from './agents.js';

export const agentRoutes: readonly Route[] = [getAgents, postAgents, postAssets, getVocabulary];
