/** Every walk with its evidence. */

import { Heading } from '../parts/heading.tsx';
import type { ViewOf } from './view.ts';

export const WalksView: ViewOf<'walks'> = () => <Heading title="Walks" />;
