/** A choice of one out of a few. */

type Props<Key extends string | number> = {
  value: Key | undefined;
  /** Each with what is shown for it. */
  options: readonly (readonly [key: Key, shown: string])[];
  choose(key: Key): void;
  /** Where no label says it. */
  name?: string;
};

export function Select<Key extends string | number>({ value, options, choose, name }: Props<Key>) {
  const change = (picked: string) => {
    const chosen = options.find(([key]) => String(key) === picked);
    if (chosen) choose(chosen[0]);
  };
  return (
    <select aria-label={name} value={value} onChange={(event) => change(event.currentTarget.value)}>
      {options.map(([key, shown]) => (
        <option key={key} value={key}>
          {shown}
        </option>
      ))}
    </select>
  );
}
