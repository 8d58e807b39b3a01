/** Every call with its answer. */

import { Heading } from '../parts/heading.tsx';
import type { ViewOf } from './view.ts';

export const CallsView: ViewOf<'calls'> = () => <Heading title="Calls" />;
