import { playTurn } from '../scripted/play-turn.js';
import type { Provider } from './provider.js';

/** Plays the turns of the agent's script.yaml in place of a model, for demos and tests. */
export const scripted: Provider = {
  baseUrl: null,
  keyVariable: null,
  priceId: null,
  remote: false,
  call: (request, { signal }) => playTurn(request, signal),
};
