/** What a view is: a component that is given what its route says. */

import type { FunctionComponent } from 'preact';
import type { Route, ViewName } from '../routes.ts';

export type ViewOf<Name extends ViewName> = FunctionComponent<Extract<Route, { view: Name }>>;
