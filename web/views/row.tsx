/** A row and its whole life. */

import { Heading } from '../parts/heading.tsx';
import type { ViewOf } from './view.ts';

export const RowView: ViewOf<'row'> = ({ key }) => <Heading title={key} />;
