// Lists as JSON text: as many items as one answer may hold, and where the next page begins. Keeps promise P41.
import type { List, PageQuery } from './contract/call.ts';
import { listedText } from './contract/listed.ts';
import type { HeaderList } from './headers.ts';

/** Bytes of an answer's body. A declared download may be larger. */
export const maxAnswer = 4 * 1024 * 1024;

/** Target of a request: the beginning of a link to another page. */
export interface RequestTarget {
  /** As sent: percent-encoded, without the query. */
  readonly path: string;
  readonly query: string;
}

export interface EncodedList {
  readonly json: string;
  readonly headers: HeaderList;
}

/** At least one item is sent, so that each page gets further. */
export function encodeList(list: List<object>, target: RequestTarget): EncodedList {
  const { items, next, field, headers } = list;
  const parts: string[] = [];
  const [open, close] = field === null ? ['[', ']'] : [`{${JSON.stringify(field)}:[`, ']}'];
  let bytes = open.length + close.length;
  for (const item of items) {
    const json = listedText(item, (large) => list.shorten(large));
    bytes += Buffer.byteLength(json) + 1;
    if (bytes > maxAnswer && parts.length > 0 && typeof next === 'function') break;
    parts.push(json);
  }
  const after = typeof next === 'function' ? next(parts.length) : next;
  const links = after === null ? [] : linkTo(target, after);
  return { json: `${open}${parts.join(',')}${close}`, headers: [...Object.entries(headers), ...links] };
}

function linkTo({ path, query }: RequestTarget, next: PageQuery): HeaderList {
  const parameters = new URLSearchParams(query);
  for (const [name, value] of Object.entries(next)) parameters.set(name, String(value));
  // A cursor is worth a header of its own: clients that page by it need not read the link.
  const cursor: HeaderList = next.cursor === undefined ? [] : [['X-Next-Cursor', String(next.cursor)]];
  const url = `${path.replace(/[^!-;=?-~]/gu, encodeURIComponent)}?${parameters}`;
  return [...cursor, ['Link', `<${url}>; rel="next"`]];
}
