import { RateLimiterPostgres } from 'rate-limiter-flexible';

/** The library's limiter with what it keeps to itself: the keys that this process blocks without a query. */
export class Limiter extends RateLimiterPostgres {
  /** The library has these two, but its types leave them out. */
  declare private readonly getInMemoryBlockMsBeforeExpire: (key: string) => number;
  declare private readonly _inMemoryBlockedKeys: { readonly delete: (key: string) => void };

  /** How long this process refuses the key without asking the database, in ms; 0 when it does not. */
  blockedMs(key: string): number {
    return this.getInMemoryBlockMsBeforeExpire(this.getKey(key));
  }

  /** Undoes one attempt; a caller who is below the limit then is unblocked. */
  async giveBack(key: string): Promise<void> {
    const { remainingPoints } = await this.reward(key, 1);
    if (remainingPoints > 0) this._inMemoryBlockedKeys.delete(this.getKey(key));
  }
}
