/** One look at all of it. */

import { Heading } from '../parts/heading.tsx';
import type { ViewOf } from './view.ts';

export const Overview: ViewOf<'overview'> = () => <Heading title="Overview" />;
