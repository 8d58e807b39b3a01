/** Releases what was opened, in the opposite order; each release runs even if others fail. */

type Release = () => unknown;

export type Releases = {
  /** Those of one call are released together. */
  add(...together: Release[]): void;
  /** Releases what was added, once. @throws the first error, after the last release. */
  all(): Promise<void>;
};

export function createReleases(): Releases {
  const open: Release[][] = [];
  return {
    add: (...together) => void open.push(together),
    async all() {
      const errors: unknown[] = [];
      for (const together of open.splice(0).reverse()) {
        const ended = await Promise.allSettled(together.map(async (release) => await release()));
        for (const end of ended) if (end.status === 'rejected') errors.push(end.reason);
      }
      if (errors.length > 0) throw errors[0];
    },
  };
}

/** Runs `work`, then releases what it has added. @throws the error of `work`, else the first of a release. */
export async function withReleases<T>(work: (releases: Releases) => Promise<T>): Promise<T> {
  const releases = createReleases();
  let result: T;
  try {
    result = await work(releases);
  } catch (thrown) {
    await releases.all().catch(() => undefined);
    throw thrown;
  }
  await releases.all();
  return result;
}
