/** A moment by the clock, in UTC or local time and named so; and how long ago it is. */

import { useNow } from '../clock.ts';
import { clockTime, duration, type Exactness, relative, zoneName } from '../formats.ts';
import { usePreferences } from '../preferences.ts';

/** @param at ISO 8601. @param text where it is to be shown otherwise than as a clock does. */
export function Time({
  at,
  exactness = 'second',
  text,
}: {
  at: string;
  exactness?: Exactness;
  text?: string;
}) {
  const { zone } = usePreferences();
  const ms = Date.parse(at);
  if (Number.isNaN(ms)) return <span>{at}</span>;
  const other = zone === 'utc' ? 'local' : 'utc';
  const both = [zone, other] as const;
  const title = both.map((each) => `${clockTime(ms, each, 'millisecond')} ${zoneName(ms, each)}`).join('\n');
  return (
    <time dateTime={at} title={title}>
      {text ?? (
        <>
          {clockTime(ms, zone, exactness)} <span class="zone">{zoneName(ms, zone)}</span>
        </>
      )}
    </time>
  );
}

/** `3m ago`, `in 20s`, by the service's clock; each second anew. */
export function Ago({ at }: { at: string }) {
  const now = useNow();
  return <Time at={at} text={relative(Date.parse(at), now)} />;
}

/** How old something is: `3m 5s`. */
export function Age({ since }: { since: string }) {
  const now = useNow();
  return <Time at={since} text={duration((now - Date.parse(since)) / 1_000)} />;
}
