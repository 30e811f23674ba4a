import type { ResolvedModel } from '../../models/contract.js';

/** The model behind a name, as traces, usage and cost tell it: two models of one alias are two models. */
export function servedBy({ provider, id }: ResolvedModel): string {
  return `${provider}/${id}`;
}

/** What events say of a model: what people named, the model that it is, and the entry that serves it. */
export function modelTold(model: ResolvedModel): object {
  return { model: model.name, served: servedBy(model), ...(model.via === undefined ? {} : { via: model.via }) };
}
