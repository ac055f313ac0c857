// Pages of the stores as lists of the API.

import type { Page, PageRequest } from '../../shared/ports/page.ts';
import { List } from './call.ts';

/** The requested page, as a list whose next page has an offset. */
export const listOf = <T, U>(
  { items, more }: Page<T>,
  { offset }: PageRequest,
  render: (item: T) => U,
): List<U> =>
  new List(items.map(render), (sent) => (sent < items.length || more ? { offset: offset + sent } : null));
