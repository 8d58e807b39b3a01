/** What is refused, what differs, and which fields were discovered. */

import { Heading } from '../parts/heading.tsx';
import type { ViewOf } from './view.ts';

export const ProblemsView: ViewOf<'problems'> = () => <Heading title="Problems" />;
