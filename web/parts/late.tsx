/** A part of the page that is loaded when it is first needed. */

import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { QueryProblem } from '../service.ts';
import { Failed, Loading } from './states.tsx';

type Load<Props> = () => Promise<FunctionComponent<Props>>;

const loaded = new Map<Load<never>, FunctionComponent<never>>();

/** @param load the same function each time. */
export function Late<Props extends object>({ load, props }: { load: Load<Props>; props: Props }) {
  const [problem, setProblem] = useState<QueryProblem | null>(null);
  const [, render] = useState({});
  const Part = loaded.get(load) as FunctionComponent<Props> | undefined;
  useEffect(() => {
    let isCurrent = true;
    setProblem(null);
    if (!Part)
      load().then(
        (part) => {
          loaded.set(load, part);
          if (isCurrent) render({});
        },
        () => isCurrent && setProblem(notLoaded),
      );
    return () => {
      isCurrent = false;
    };
  }, [load]);
  if (Part) return <Part {...props} />;
  return problem ? <Failed problem={problem} again={() => location.reload()} /> : <Loading />;
}

export const notLoaded: QueryProblem = {
  kind: 'away',
  message:
    'this part of the page could not be loaded: the service is away, or was updated; load the page again',
};
