/**
 * Work that goes on beside the loop that began it, so that one piece that takes long, as where the other side is silent,
 * holds up no other. Each belongs to somebody, and nobody has all the room there is.
 */
export class InFlight {
  readonly #work = new Map<Promise<void>, string>();

  constructor(
    private readonly limits: { readonly atOnce: number; readonly each: number },
    private readonly onError: (error: unknown) => void,
  ) {}

  /** How many more there is room for. */
  get room(): number {
    return this.limits.atOnce - this.#work.size;
  }

  /** Those who have as much at work as one may. */
  get busy(): readonly string[] {
    const counts = new Map<string, number>();
    for (const owner of this.#work.values()) counts.set(owner, (counts.get(owner) ?? 0) + 1);
    return [...counts].filter(([, count]) => count >= this.limits.each).map(([owner]) => owner);
  }

  begin(owner: string, work: () => Promise<void>): void {
    const piece: Promise<void> = work()
      .catch(this.onError)
      .finally(() => this.#work.delete(piece));
    this.#work.set(piece, owner);
  }

  /** Resolves when none is at work any more. */
  async idle(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work.keys());
  }
}
