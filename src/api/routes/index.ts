import type { Route } from '../define-route.js';
import { accountRoutes } from './account.js';
import { agentRoutes } from './agents.js';
import { approveRoutes } from './approve.js';
import { authRoutes } from './auth.js';
import { avatarRoutes } from './avatars.js';
import { cliRoutes } from './cli.js';
import { deployRoutes } from './deploys.js';
import { docsRoutes } from './docs.js';
import { evalRoutes } from './evals.js';
import { eventRoutes } from './events.js';
import { flowRoutes } from './flows.js';
import { gitRoutes } from './git.js';
import { healthRoutes } from './health.js';
import { historyRoutes } from './history.js';
import { hookRoutes } from './hooks.js';
import { keyRoutes } from './keys.js';
import { libraryRoutes } from './library.js';
import { notificationRoutes } from './notifications.js';
import { oauthRoutes } from './oauth.js';
import { repoRoutes } from './repo.js';
import { runRoutes } from './runs.js';
import { scheduleRoutes } from './schedule.js';
import { secretRoutes } from './secrets.js';
import { sourceRoutes } from './source.js';
import { teamRoutes } from './team.js';
import { toolRoutes } from './tools.js';
import { workspaceRoutes } from './workspaces.js';

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
