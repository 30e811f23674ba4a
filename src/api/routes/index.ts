import type { Route } from '../define-route.js';
import { accountRoutes } from './account/index.js';
import { agentRoutes } from './agents/index.js';
import { approveRoutes } from './approve/index.js';
import { authRoutes } from './auth/index.js';
import { avatarRoutes } from './avatars/index.js';
import { cliRoutes } from './cli/index.js';
import { deployRoutes } from './deploys/index.js';
import { docsRoutes } from './docs/index.js';
import { evalRoutes } from './evals/index.js';
import { eventRoutes } from './events/index.js';
import { flowRoutes } from './flows/index.js';
import { gitRoutes } from './git/index.js';
import { healthRoutes } from './health/index.js';
import { historyRoutes } from './history/index.js';
import { hookRoutes } from './hooks/index.js';
import { keyRoutes } from './keys/index.js';
import { libraryRoutes } from './library/index.js';
import { notificationRoutes } from './notifications/index.js';
import { oauthRoutes } from './oauth/index.js';
import { repoRoutes } from './repo/index.js';
import { runRoutes } from './runs/index.js';
import { scheduleRoutes } from './schedule/index.js';
import { secretRoutes } from './secrets/index.js';
import { sourceRoutes } from './source/index.js';
import { teamRoutes } from './team/index.js';
import { toolRoutes } from './tools/index.js';
import { workspaceRoutes } from './workspaces/index.js';

/** The route table of the app, the documentation and the access tests. */
export const routes: readonly Route[] = [
  ...workspaceRoutes,
  ...sourceRoutes,
  ...deployRoutes,
  ...historyRoutes,
  ...repoRoutes,
  ...libraryRoutes,
  ...gitRoutes,
  ...runRoutes,
  ...evalRoutes,
  ...eventRoutes,
  ...approveRoutes,
  ...flowRoutes,
  ...scheduleRoutes,
  ...agentRoutes,
  ...toolRoutes,
  ...hookRoutes,
  ...accountRoutes,
  ...secretRoutes,
  ...notificationRoutes,
  ...oauthRoutes,
  ...authRoutes,
  ...cliRoutes,
  ...teamRoutes,
  ...keyRoutes,
  ...avatarRoutes,
  ...healthRoutes,
  ...docsRoutes,
];
