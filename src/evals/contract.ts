/** For deploys, which evals themselves are made of: the one thing that they begin here. */
export { beginPushEvals } from './begin-push-evals.js';
