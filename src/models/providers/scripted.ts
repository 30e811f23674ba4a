import { playTurn } from '../scripted/play-turn.js';
import type { Provider } from './provider.js';

/** No model at all: the turns of the agent's script.yaml, for demos and tests. */
export const scripted: Provider = {
  baseUrl: null,
  keyVariable: null,
  priceId: null,
  remote: false,
  call: (request, { signal }) => playTurn(request, signal),
};
