/** What views begin with and are laid out by: the title, tabs, named facts. */

import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { usePageAddress } from '../router.ts';

/** The title takes the focus when the view changes; what belongs beside it follows. */
export function Heading({ title, children }: { title: string; children?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { path } = usePageAddress();
  // Another path is another view, though its title may be the same.
  useEffect(() => {
    document.title = `${title} · market-mirror`;
    // The first view leaves the focus at the beginning of the page.
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

/** Links of which one is shown. @param label for those who do not see it. */
export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ text, link, isHere }) => (
        <a key={text} href={link} aria-current={isHere ? 'page' : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}

type Tab = { text: string; link: string; isHere: boolean };

/** One of a `dl`. */
export function Fact({ name, children }: { name: ComponentChildren; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
