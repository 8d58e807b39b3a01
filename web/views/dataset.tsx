/** A dataset: its rows, found, sorted, filtered and charted by the database. */

import { Heading } from '../parts/heading.tsx';
import type { ViewOf } from './view.ts';

export const DatasetView: ViewOf<'dataset'> = ({ job }) => <Heading title={job} />;
