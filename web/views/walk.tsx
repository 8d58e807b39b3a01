/** One walk: what it found, and each of its calls. */

import { Heading } from '../parts/heading.tsx';
import type { ViewOf } from './view.ts';

export const WalkView: ViewOf<'walk'> = ({ id }) => <Heading title={`Walk ${id}`} />;
