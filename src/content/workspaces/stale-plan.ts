/** What a plan does when another writer came before its transaction: check again under the lock, or throw `StalePlan`. */
export type OnStale = 'check-again' | 'throw';

/** Another writer came between a plan and its transaction: plan again. */
export class StalePlan extends Error {
  override readonly name = 'StalePlan';

  constructor() {
    super('another writer came before the transaction');
  }
}
