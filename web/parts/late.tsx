/** A part of the page that is loaded when it is first needed. */

import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Trouble } from '../service.ts';
import { Failed, Loading } from './states.tsx';

type Load<Props> = () => Promise<FunctionComponent<Props>>;

const loaded = new Map<Load<never>, FunctionComponent<never>>();

/** @param load the same function each time. */
export function Late<Props extends object>({ load, props }: { load: Load<Props>; props: Props }) {
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [, render] = useState({});
  useEffect(() => {
    let isCurrent = true;
    setTrouble(null);
    loadStyle();
    if (!loaded.has(load))
      load().then(
        (part) => {
          loaded.set(load, part);
          if (isCurrent) render({});
        },
        () => isCurrent && setTrouble(notLoaded),
      );
    return () => {
      isCurrent = false;
    };
  }, [load]);
  const Part = loaded.get(load) as FunctionComponent<Props> | undefined;
  if (Part) return <Part {...props} />;
  return trouble ? <Failed trouble={trouble} again={() => location.reload()} /> : <Loading />;
}

const notLoaded: Trouble = {
  kind: 'away',
  message:
    'this part of the page could not be loaded: the service is away, or was updated; load the page again',
};

/** The style of what is loaded late has no part in the first view. Its address is in `index.html`. */
function loadStyle(): void {
  const named = document.querySelector<HTMLMetaElement>('meta[name="late-style"]');
  if (!named) return;
  const link = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: named.content });
  named.replaceWith(link);
}
