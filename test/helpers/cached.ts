/** Makes a thing once a worker for each key; one that failed is made again for the next who asks. */
export function cached<Key, Made>(make: (key: Key) => Promise<Made>): (key: Key) => Promise<Made> {
  const made = new Map<Key, Promise<Made>>();
  return (key) => {
    const present = made.get(key);
    if (present) return present;
    const making = make(key);
    made.set(key, making);
    making.catch(() => made.delete(key));
    return making;
  };
}
