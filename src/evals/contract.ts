/** Evals themselves deploy, so deploys may import only this: the start of push evals. */
export { beginPushEvals } from './begin-push-evals.js';
