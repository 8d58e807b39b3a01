/** Makes a thing once a worker for each key; one that failed is made again for the next who asks. */
export function cached<Key extends readonly unknown[], Made>(
  make: (...key: Key) => Promise<Made>,
): (...key: Key) => Promise<Made> {
  const made = new Map<unknown, Promise<Made>>();
  return (...key) => {
    const present = made.get(key[0]);
    if (present) return present;
    const making = make(...key);
    made.set(key[0], making);
    making.catch(() => made.delete(key[0]));
    return making;
  };
}
