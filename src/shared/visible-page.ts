// Pages of a list of which a person sees a part.
import type { Page, PageRequest } from './ports/page.ts';

const readAtOnce = 200;
/** Items looked at for one page. Those behind them are in no page. */
const maxRead = 20_000;

/**
 * The page of the items that `sees` admits: offset and limit count these alone. Reads the list from its start.
 * @param list the whole list, page by page
 */
export async function visiblePage<T>(
  list: (page: PageRequest) => Promise<Page<T>>,
  sees: (item: T) => boolean | Promise<boolean>,
  { limit, offset }: PageRequest,
): Promise<Page<T>> {
  const visible: T[] = [];
  let more = true;
  for (let at = 0; more && at < maxRead && visible.length <= offset + limit; ) {
    const page = await list({ limit: readAtOnce, offset: at });
    const areVisible = await Promise.all(page.items.map(sees));
    visible.push(...page.items.filter((_, i) => areVisible[i]));
    at += page.items.length;
    more = page.more && page.items.length > 0;
  }
  return { items: visible.slice(offset, offset + limit), more: visible.length > offset + limit };
}
