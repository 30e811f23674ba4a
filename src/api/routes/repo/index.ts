import type { Route } from '../../define-route.js';
import { postRepo } from './act-on-repo.js';
import { getCodePushes } from './list-pushes.js';
import { getRepo } from './read-repo.js';
import { postCodePush } from './receive-push.js';

export const repoRoutes: readonly Route[] = [getRepo, postRepo, getCodePushes, postCodePush];
