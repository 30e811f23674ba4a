const tails = new Map<string, Promise<unknown>>();

/**
 * Runs the writers of one workspace one after the other within this process. The row lock ensures correctness; this only
 * keeps waiting writers from holding all database connections.
 */
export async function inTurn<T>(workspaceId: string, work: () => Promise<T>): Promise<T> {
  const before = tails.get(workspaceId) ?? Promise.resolve();
  const mine = before.then(work, work);
  const tail = mine.catch(() => undefined);
  tails.set(workspaceId, tail);
  try {
    return await mine;
  } finally {
    if (tails.get(workspaceId) === tail) tails.delete(workspaceId);
  }
}
