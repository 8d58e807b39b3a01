/** Menus close as they do everywhere: by Escape, which goes back to their button, and by a click beside them. */

import { useEffect } from 'preact/hooks';

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
