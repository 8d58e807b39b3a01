/** What may be wider than the page, and is then scrolled by itself, with the keyboard, too. */

import type { ComponentChildren } from 'preact';

type Props = { label: string; isBusy?: boolean; children: ComponentChildren };

export function Scroll({ label, isBusy = false, children }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <section class="scroll" aria-label={label} aria-busy={isBusy} tabIndex={0}>
      {children}
    </section>
  );
}
