import type { ResolvedModel } from '../../models/contract.js';

/** The model behind a name, as traces, usage and cost show it: two models of one alias are distinct. */
export function servedBy({ provider, id }: ResolvedModel): string {
  return `${provider}/${id}`;
}

/** A model in events: its requested name, the model itself, and the entry that serves it. */
export function modelFields(model: ResolvedModel): object {
  return { model: model.name, served: servedBy(model), ...(model.via === undefined ? {} : { via: model.via }) };
}
