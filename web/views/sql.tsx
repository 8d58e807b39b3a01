/** Questions in SQL. */

import { Heading } from '../parts/heading.tsx';
import type { ViewOf } from './view.ts';

export const SqlView: ViewOf<'sql'> = () => <Heading title="SQL" />;
