import { getRefs, postFetch, postPush } from './git.js';

export const gitRoutes = [getRefs, postFetch, postPush];
