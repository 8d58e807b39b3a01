/** What stands where there are no data: nothing there, not yet, or something went wrong. */

import type { ComponentChildren } from 'preact';
import type { Trouble } from '../service.ts';

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="state">{children}</p>;
}

/** Seen only after a moment: most answers are faster. */
export function Loading({ what = 'Loading' }: { what?: string }) {
  return (
    <p class="state loading" role="status">
      {what}…
    </p>
  );
}

export function Failed({ trouble, again }: { trouble: Trouble; again?: (() => void) | undefined }) {
  return (
    <div class={`state trouble${trouble.kind === 'stopped' ? '' : ' failed'}`} role="alert">
      <p class="message">{trouble.message}</p>
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}
