/** What stands where there are no data: nothing there, not yet, or something went wrong. */

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Phrase } from '../../src/serve/page/wire.ts';
import type { Query } from '../ask.ts';
import type { QueryProblem } from '../service.ts';
import { Time } from './time.tsx';

/** @param title where it stands in the place of a whole view. */
export function Empty({ title, children }: { title?: string; children: ComponentChildren }) {
  return (
    <>
      {title !== undefined && <h1>{title}</h1>}
      <p class="state">{children}</p>
    </>
  );
}

/** Seen only after a moment: most answers are faster. */
export function Loading({ what = 'Loading' }: { what?: string }) {
  return (
    <p class="state loading" role="status">
      {what}…
    </p>
  );
}

export function Failed({ problem, again }: { problem: QueryProblem; again?: (() => void) | undefined }) {
  return (
    <div class={`state tools between${problem.kind === 'stopped' ? '' : ' failed'}`} role="alert">
      <p class="message">{problem.message}</p>
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

type Props = {
  query: Query<unknown>;
  /** What is done until there is something to show. */
  loading?: string;
  /** Something is shown, be it of the answer before. */
  isThere?: boolean;
};

/** What stands before an answer, or in its place. */
export function Awaited({ query, loading = 'Loading', isThere = query.value !== null }: Props) {
  return (
    <>
      {query.problem && <Failed problem={query.problem} again={query.again} />}
      {!isThere && query.isLoading && <Loading what={loading} />}
    </>
  );
}

/** A sentence of the service, with its times as times. */
export function PhraseText({ phrase }: { phrase: Phrase }) {
  return (
    <>{phrase.map((piece) => (typeof piece === 'string' ? piece : <Time key={piece.at} at={piece.at} />))}</>
  );
}

type ScrollProps = { label: string; isBusy?: boolean; children: ComponentChildren };

/** What may be wider than the page, and is then scrolled by itself, with the keyboard, too. */
export function Scroll({ label, isBusy = false, children }: ScrollProps) {
  const [place, hasMore] = useMoreRight();
  return (
    <section
      ref={place}
      class={`scroll${hasMore ? ' more-right' : ''}`}
      aria-label={label}
      aria-busy={isBusy}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
      tabIndex={0}
    >
      {children}
    </section>
  );
}

/** Whether something lies to the right of what an element shows. */
function useMoreRight() {
  const place = useRef<HTMLElement>(null);
  const [hasMore, setMore] = useState(false);
  useEffect(() => {
    const here = place.current;
    if (!here) return;
    const look = () => setMore(here.scrollWidth - here.clientWidth - here.scrollLeft > 1);
    const sizes = new ResizeObserver(look);
    sizes.observe(here);
    if (here.firstElementChild) sizes.observe(here.firstElementChild);
    here.addEventListener('scroll', look, { passive: true });
    return () => {
      sizes.disconnect();
      here.removeEventListener('scroll', look);
    };
  }, []);
  return [place, hasMore] as const;
}
