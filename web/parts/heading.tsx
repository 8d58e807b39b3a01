/** The first line of a view: its title, which takes the focus when the view changes, and what belongs beside it. */

import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { usePlace } from '../router.ts';

export function Heading({ title, children }: { title: string; children?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { path } = usePlace();
  // Another path is another view, though its title may be the same.
  useEffect(() => {
    document.title = `${title} · market-mirror`;
    // Not at the first view: nobody has followed a link, and the beginning of the page has the focus.
    if (hasMoved) heading.current?.focus();
    hasMoved = true;
  }, [path, title]);
  return (
    <div class="heading">
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {children}
    </div>
  );
}

let hasMoved = false;
