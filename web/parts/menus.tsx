/** What opens over the page: menus, and dialogs. Both close as they do everywhere: by Escape and by a click beside them. */

import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

export function useMenus(): void {
  useEffect(() => {
    const onKey = ({ key }: KeyboardEvent) => {
      // A dialog that stands above is closed first.
      if (key !== 'Escape' || document.querySelector('dialog[open]')) return;
      openMenus().forEach(closeMenu);
    };
    const onClick = ({ target }: MouseEvent) => {
      for (const menu of openMenus()) if (!menu.contains(target as Node)) menu.open = false;
    };
    document.addEventListener('keydown', onKey);
    document.addEventListener('click', onClick);
    return () => {
      document.removeEventListener('keydown', onKey);
      document.removeEventListener('click', onClick);
    };
  }, []);
}

/** Goes back to its button. */
export function closeMenu(menu: HTMLDetailsElement | null): void {
  if (!menu) return;
  menu.open = false;
  menu.querySelector('summary')?.focus();
}

const openMenus = () => document.querySelectorAll<HTMLDetailsElement>('details.menu[open]');

type DialogProps = { title: string; close(): void; children: ComponentChildren };

export function Dialog({ title, close, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, as it does every dialog
    <dialog
      ref={dialog}
      aria-label={title}
      onClose={close}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <div class="stack">
        <div class="tools between">
          <h2>{title}</h2>
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}
